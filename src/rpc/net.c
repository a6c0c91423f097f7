/* Addresses and sockets. */
#include "rpc/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <libgen.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"
#include "base/text.h"

/* ---- addresses ---- */

static cuzk_status not_an_address(const char *text, cuzk_error *err) {
    cuzk_fail(err, CUZK_USAGE, "this is not an address");
    cuzk_fail_expected(err, "unix:///run/cuzk/cuzk.sock, 127.0.0.1:9820 or [::1]:9820");
    return cuzk_fail_found(err, "%s", text);
}

static cuzk_status parse_unix(net_address *out, const char *path, const char *text, cuzk_error *err) {
    if (!*path) return not_an_address(text, err);
    if (strlen(path) >= sizeof out->socket.local.sun_path) {
        cuzk_fail(err, CUZK_USAGE, "the socket's path is too long");
        cuzk_fail_where(err, "%s", path);
        return cuzk_fail_expected(err, "at most %zu bytes", sizeof out->socket.local.sun_path - 1);
    }
    out->is_unix = out->loopback = true;
    out->socket.local.sun_family = AF_UNIX;
    snprintf(out->socket.local.sun_path, sizeof out->socket.local.sun_path, "%s", path);
    out->socket_bytes = sizeof out->socket.local;
    snprintf(out->text, sizeof out->text, "unix://%s", path);
    return CUZK_OK;
}

bool net_is_loopback(const struct sockaddr *a) {
    if (a->sa_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, a, sizeof in);
        return ntohl(in.sin_addr.s_addr) >> 24 == 127;
    }
    struct sockaddr_in6 in6;
    memcpy(&in6, a, sizeof in6);
    return IN6_IS_ADDR_LOOPBACK(&in6.sin6_addr);
}

static void name_tcp(net_address *a, unsigned port) {
    snprintf(a->text, sizeof a->text, strchr(a->host, ':') ? "[%s]:%u" : "%s:%u", a->host, port);
}

cuzk_status net_parse(net_address *out, const char *text, bool names, cuzk_error *err) {
    memset(out, 0, sizeof *out);
    if (!strncmp(text, "unix://", 7)) return parse_unix(out, text + 7, text, err);
    if (!strncmp(text, "unix:", 5)) return parse_unix(out, text + 5, text, err);
    if (text[0] == '/') return parse_unix(out, text, text, err);
    const char *colon = strrchr(text, ':'), *host = text;
    uint64_t port;
    if (!colon || !text_u64(&port, colon + 1, strlen(colon + 1)) || port > 65535) return not_an_address(text, err);
    size_t n = (size_t)(colon - text);
    if (n >= 2 && host[0] == '[' && host[n - 1] == ']') {
        host++;
        n -= 2;
    } else if (memchr(host, ':', n)) {
        return not_an_address(text, err);
    }
    if (n == 0 || n >= sizeof out->host) return not_an_address(text, err);
    memcpy(out->host, host, n);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = names ? AI_ADDRCONFIG : AI_NUMERICHOST}, *found;
    int rc = getaddrinfo(out->host, colon + 1, &hints, &found);
    if (rc == EAI_NONAME && !names) {
        not_an_address(text, err);
        return cuzk_fail_hint(err, "give a numeric address to listen on, or 0.0.0.0 for all");
    }
    if (rc) {
        cuzk_fail(err, CUZK_UNREACHABLE, "the host's name cannot be looked up: %s", gai_strerror(rc));
        return cuzk_fail_where(err, "%s", text);
    }
    memcpy(&out->socket, found->ai_addr, found->ai_addrlen);
    out->socket_bytes = found->ai_addrlen;
    freeaddrinfo(found);
    out->loopback = net_is_loopback(&out->socket.any);
    name_tcp(out, (unsigned)port);
    return CUZK_OK;
}

/* ---- listening ---- */

/* OK with the numbers; (uid_t)-1 leaves as it is. */
static cuzk_status parse_owner(const char *owner, uid_t *uid, gid_t *gid, cuzk_error *err) {
    char user[64];
    uint64_t n;
    size_t len = strcspn(owner, ":");
    const char *group = owner[len] ? owner + len + 1 : "";
    snprintf(user, sizeof user, "%.*s", (int)len, owner);
    const struct passwd *p = NULL;
    const struct group *g = NULL;
    *uid = (uid_t)-1;
    *gid = (gid_t)-1;
    if (user[0] && text_u64(&n, user, len) && n < UINT32_MAX)
        *uid = (uid_t)n;
    else if (user[0] && (p = getpwnam(user)))
        *uid = p->pw_uid;
    else if (user[0])
        return cuzk_fail(err, CUZK_USAGE, "there is no user %s to own the socket", user);
    if (group[0] && text_u64(&n, group, strlen(group)) && n < UINT32_MAX)
        *gid = (gid_t)n;
    else if (group[0] && (g = getgrnam(group)))
        *gid = g->gr_gid;
    else if (group[0])
        return cuzk_fail(err, CUZK_USAGE, "there is no group %s to own the socket", group);
    return CUZK_OK;
}

static cuzk_status cannot_listen(const net_address *a, int fd, cuzk_error *err) {
    int number = errno;
    if (fd >= 0) close(fd);
    cuzk_fail_errno(err, number, a->text, "listening");
    if (number == EADDRINUSE) cuzk_fail_hint(err, "another program listens there; stop it or give another address");
    return err->status;
}

/* A socket file that nobody listens on any more is removed. */
static cuzk_status clear_path(const net_address *a, cuzk_error *err) {
    const char *path = a->socket.local.sun_path;
    struct stat st;
    if (lstat(path, &st)) return CUZK_OK;
    if (!S_ISSOCK(st.st_mode)) {
        cuzk_fail(err, CUZK_IO, "the socket's path is taken by something that is no socket");
        cuzk_fail_where(err, "%s", path);
        return cuzk_fail_hint(err, "give another path, or move that file away");
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int rc = fd < 0 ? -1 : connect(fd, &a->socket.any, a->socket_bytes);
    bool dead = fd >= 0 && rc && errno == ECONNREFUSED;
    if (fd >= 0) close(fd);
    if (dead) {
        unlink(path);
        return CUZK_OK;
    }
    cuzk_fail(err, CUZK_IO, "another daemon listens on this socket");
    cuzk_fail_where(err, "%s", path);
    return cuzk_fail_hint(err, "stop it first, or give another path");
}

/* Bound under the process's umask and opened up afterwards: before listen(2) nobody can connect, so the mode is in
 * force for the first client. */
static cuzk_status listen_unix(int *out, net_address *a, unsigned mode, const char *owner, cuzk_error *err) {
    const char *path = a->socket.local.sun_path;
    char copy[sizeof a->socket.local.sun_path];
    uid_t uid;
    gid_t gid;
    if (parse_owner(owner ? owner : "", &uid, &gid, err)) return err->status;
    snprintf(copy, sizeof copy, "%s", path);
    if (file_make_folders(dirname(copy), err) || clear_path(a, err)) return err->status;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, &a->socket.any, a->socket_bytes)) return cannot_listen(a, fd, err);
    bool changes = uid != (uid_t)-1 || gid != (gid_t)-1;
    if (chmod(path, mode) || (changes && chown(path, uid, gid)) || listen(fd, SOMAXCONN)) {
        unlink(path);
        return cannot_listen(a, fd, err);
    }
    *out = fd;
    return CUZK_OK;
}

cuzk_status net_listen(int *out, net_address *a, unsigned mode, const char *owner, cuzk_error *err) {
    if (a->is_unix) return listen_unix(out, a, mode, owner, err);
    int on = 1, fd = socket(a->socket.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return cannot_listen(a, fd, err);
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, &a->socket.any, a->socket_bytes) || listen(fd, SOMAXCONN)) return cannot_listen(a, fd, err);
    struct sockaddr_storage taken;
    socklen_t n = sizeof taken;
    char port[16];
    if (!getsockname(fd, (struct sockaddr *)&taken, &n) &&
        !getnameinfo((struct sockaddr *)&taken, n, NULL, 0, port, sizeof port, NI_NUMERICSERV))
        name_tcp(a, (unsigned)strtoul(port, NULL, 10));
    *out = fd;
    return CUZK_OK;
}

/* ---- connecting ---- */

cuzk_status net_connect(int *out, const net_address *a, double timeout, cuzk_error *err) {
    int number = 0, on = 1;
    socklen_t n = sizeof number;
    int fd = socket(a->socket.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || (connect(fd, &a->socket.any, a->socket_bytes) && errno != EINPROGRESS)) {
        number = errno;
    } else {
        struct pollfd p = {.fd = fd, .events = POLLOUT};
        int rc = poll(&p, 1, (int)(timeout * 1000));
        if (rc == 0)
            number = ETIMEDOUT;
        else if (rc < 0 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &number, &n))
            number = errno;
    }
    if (!number) {
        if (!a->is_unix) (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        *out = fd;
        return CUZK_OK;
    }
    if (fd >= 0) close(fd);
    if (number == EINTR) return cuzk_fail(err, CUZK_CANCELLED, "cancelled");
    cuzk_fail(err, CUZK_UNREACHABLE, "the daemon cannot be reached: %s", strerror(number));
    cuzk_fail_where(err, "%s", a->text);
    return cuzk_fail_hint(err, number == EACCES
                                   ? "run as a user who may use the daemon's socket (its mode and owner)"
                                   : "start it with `cuzk serve`, or name another with --addr or $CUZK_ADDR");
}
