/* TEST_SANITIZED: 1 where a sanitizer is compiled in. Arithmetic is about ten times as slow there, so tests take fewer
 * or smaller cases of a kind; they never leave out a kind or an edge.
 */
#ifndef CUZK_TESTS_REF_SANITIZED_H
#define CUZK_TESTS_REF_SANITIZED_H

#ifdef __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TEST_SANITIZED 1
#endif
#endif
#if !defined(TEST_SANITIZED) && (defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__))
#define TEST_SANITIZED 1
#endif
#ifndef TEST_SANITIZED
#define TEST_SANITIZED 0
#endif

#endif
