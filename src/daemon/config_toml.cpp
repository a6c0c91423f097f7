/* The one C++ file: toml++ parses, and what it found is handed on as plain values, in the order of the document. */
#include "daemon/config_toml.h"

#include <algorithm>
#include <string>
#include <vector>
/* Its assertions fail on faults of the document ("[[["), which it reports all the same when they are off. */
#define TOML_ASSERT(expr) static_assert(true)
#include <toml++/toml.h>

namespace {

struct setting {
    std::string path, name;
    toml_item item;
    std::vector<toml_item> items;
};

toml_item item_of(const toml::node &node) {
    toml_item item = {};
    const toml::source_position at = node.source().begin;
    item.line = at.line;
    item.column = at.column;
    item.kind = TOML_OTHER;
    if (const auto *text = node.as_string()) {
        item.kind = TOML_TEXT;
        item.text = text->get().c_str();
        item.len = text->get().size();
    } else if (const auto *whole = node.as_integer()) {
        item.kind = TOML_WHOLE;
        item.whole = whole->get();
    } else if (const auto *real = node.as_floating_point()) {
        item.kind = TOML_REAL;
        item.real = real->get();
    } else if (const auto *truth = node.as_boolean()) {
        item.kind = TOML_TRUTH;
        item.truth = truth->get();
    } else if (node.is_array()) {
        item.kind = TOML_LIST;
    } else if (node.is_table()) {
        item.kind = TOML_TABLE;
    }
    return item;
}

/* Tables are as deep as values may be nested (256) times the parts that a name may have. */
void collect(const toml::table &table, const std::string &path, std::vector<setting> &all) {
    for (const auto &[key, node] : table) {
        const std::string name(key.str());
        if (const toml::table *inner = node.as_table(); inner && !inner->empty()) {
            collect(*inner, path.empty() ? name : path + "." + name, all);
            continue;
        }
        setting s = {path, name, item_of(node), {}};
        /* Where the name stands says more than where the value does. */
        s.item.line = key.source().begin.line;
        s.item.column = key.source().begin.column;
        if (const toml::array *list = node.as_array())
            for (const toml::node &element : *list) s.items.push_back(item_of(element));
        all.push_back(std::move(s));
    }
}

constexpr unsigned most_dots = 8; /* in one name; those of settings have one */

/* What toml++ cannot be given, or NULL. A byte beyond ASCII outside of texts and comments is no TOML, and some letters
 * there make it run into code that it holds to be out of reach. A name of very many parts makes a tree so deep that
 * walking it takes more stack than there is. Up to the document's first fault, which ends its parsing, this follows the
 * same rules. */
const char *first_obstacle(std::string_view text, unsigned *line, unsigned *column) {
    const char *const multi[] = {"\"\"\"", "'''"};
    char quote = 0; /* of the text we are in; 0: none */
    bool comment = false, long_text = false;
    unsigned dots = 0;
    *line = 1, *column = 0;
    for (size_t i = 0; i < text.size(); i++) {
        const char c = text[i];
        ++*column;
        if (c == '\n') {
            ++*line, *column = 0;
            comment = false;
            dots = 0;
            if (!long_text) quote = 0;
        } else if (comment) {
            continue;
        } else if (quote) {
            if (c == '\\' && quote == '"') {
                if (i + 1 < text.size() && text[i + 1] != '\n') i++, ++*column;
            } else if (c == quote && !long_text) {
                quote = 0;
            } else if (c == quote && text.substr(i, 3) == multi[quote == '\'']) {
                /* Up to two quotes may stand before the closing three. */
                while (i + 3 < text.size() && text[i + 3] == quote) i++, ++*column;
                i += 2, *column += 2;
                quote = 0, long_text = false;
            }
        } else if (c == '#') {
            comment = true;
        } else if (c == '"' || c == '\'') {
            quote = c;
            long_text = text.substr(i, 3) == multi[c == '\''];
            if (long_text) i += 2, *column += 2;
        } else if (static_cast<unsigned char>(c) >= 0x80) {
            return "a byte beyond ASCII outside of texts and comments";
        } else if (c == '.') {
            if (++dots > most_dots) return "a name of too many parts";
        } else if (c == ',' || c == '=') {
            dots = 0;
        }
    }
    return nullptr;
}

} // namespace

extern "C" cuzk_status toml_read(const char *file, const char *text, size_t len, toml_setting each, void *user,
                                 cuzk_error *err) {
    try {
        unsigned line, column;
        const bool has_mark = std::string_view(text, len).substr(0, 3) == "\xEF\xBB\xBF"; /* of UTF-8 */
        const char *const obstacle =
            first_obstacle(std::string_view(text, len).substr(has_mark ? 3 : 0), &line, &column);
        if (obstacle) {
            cuzk_fail(err, CUZK_MALFORMED, "the settings are not TOML");
            cuzk_fail_where(err, "%s: line %u, column %u", file, line, column);
            return cuzk_fail_found(err, "%s", obstacle);
        }
        const toml::parse_result result = toml::parse(std::string_view(text, len), std::string_view(file));
        if (!result) {
            const toml::parse_error &fault = result.error();
            const std::string why(fault.description());
            cuzk_fail(err, CUZK_MALFORMED, "the settings are not TOML");
            cuzk_fail_where(err, "%s: line %u, column %u", file, fault.source().begin.line,
                            fault.source().begin.column);
            return cuzk_fail_found(err, "%s", why.c_str());
        }
        std::vector<setting> all;
        collect(result.table(), std::string(), all);
        std::stable_sort(all.begin(), all.end(), [](const setting &a, const setting &b) {
            return a.item.line != b.item.line ? a.item.line < b.item.line : a.item.column < b.item.column;
        });
        for (const setting &s : all) {
            const cuzk_status status =
                each(user, s.path.c_str(), s.name.c_str(), &s.item, s.items.data(), s.items.size(), err);
            if (status != CUZK_OK) return status;
        }
        return CUZK_OK;
    } catch (...) {
        return cuzk_fail(err, CUZK_MEMORY, "no memory for reading the settings");
    }
}
