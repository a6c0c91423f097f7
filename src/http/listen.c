/* See http/listen.h. */
#include "http/listen.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/text.h"
#include "rpc/net.h"

static cuzk_status not_an_address(const char *address, cuzk_error *err) {
    cuzk_fail(err, CUZK_USAGE, "this is no address to listen on");
    cuzk_fail_expected(err, "HOST:PORT, such as 127.0.0.1:9821, [::1]:9821 or :9821");
    return cuzk_fail_found(err, "%s", address);
}

static cuzk_status split(char *host, size_t host_size, char *port, size_t port_size, const char *address,
                         cuzk_error *err) {
    const char *colon = strrchr(address, ':');
    uint64_t number;
    size_t len = colon ? (size_t)(colon - address) : 0;
    if (!colon || !text_u64(&number, colon + 1, strlen(colon + 1)) || number > 65535) {
        return not_an_address(address, err);
    }
    if (len >= 2 && address[0] == '[' && colon[-1] == ']') address++, len -= 2;
    if (len >= host_size) return not_an_address(address, err);
    memcpy(host, address, len);
    host[len] = 0;
    snprintf(port, port_size, "%llu", (unsigned long long)number);
    return CUZK_OK;
}

static cuzk_status describe(int fd, char *name, size_t name_size, bool *loopback, cuzk_error *err) {
    struct sockaddr_storage a;
    socklen_t len = sizeof a;
    char host[64], port[8];
    if (getsockname(fd, (struct sockaddr *)&a, &len) || getnameinfo((struct sockaddr *)&a, len, host, sizeof host, port,
                                                                    sizeof port, NI_NUMERICHOST | NI_NUMERICSERV)) {
        return cuzk_fail(err, CUZK_IO, "the listening socket has no name");
    }
    *loopback = net_is_loopback((struct sockaddr *)&a);
    snprintf(name, name_size, a.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
    return CUZK_OK;
}

static int open_one(const struct addrinfo *a) {
    int one = 1, fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
    if (fd < 0) return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (!bind(fd, a->ai_addr, a->ai_addrlen) && !listen(fd, 64)) return fd;
    int why = errno;
    close(fd);
    errno = why;
    return -1;
}

cuzk_status listen_open(int *fd, char *name, size_t name_size, bool *loopback, const char *address, cuzk_error *err) {
    char host[256], port[8];
    struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM}, *list;
    *fd = -1;
    if (split(host, sizeof host, port, sizeof port, address, err)) return err->status;
    int rc = getaddrinfo(host[0] ? host : NULL, port, &hints, &list);
    if (rc) {
        not_an_address(address, err);
        return cuzk_fail_found(err, "%s: %s", address, gai_strerror(rc));
    }
    int why = 0;
    for (const struct addrinfo *a = list; a && *fd < 0; a = a->ai_next) {
        *fd = open_one(a);
        if (*fd < 0) why = errno;
    }
    freeaddrinfo(list);
    if (*fd < 0) {
        cuzk_fail_errno(err, why, address, "cannot listen");
        return cuzk_fail_hint(err, "is another daemon running there? give another address");
    }
    if (!describe(*fd, name, name_size, loopback, err)) return CUZK_OK;
    close(*fd);
    *fd = -1;
    return err->status;
}
