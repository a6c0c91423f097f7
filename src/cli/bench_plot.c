/* The plot of a run: memory by class over time against the budget, and the waterfall of partitions below it, as one SVG
 * file that needs nothing else. Light or dark as the viewer's. */
#include "cli/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/file.h"
#include "base/text.h"

#define WIDTH 1200.0
#define LEFT 110.0
#define RIGHT 20.0
#define TOP 84.0 /* a title, and a legend of two lines */
#define PLOT_HEIGHT 300.0

typedef struct plot {
    FILE *f;
    const bench_run *r;
    double seconds, top_bytes;         /* of the axes */
    bool budget_shown, reserved_shown; /* else they are far above the picture */
} plot;

/* The classes' order and colours are those of the live page. */
static const char *const class_names[BUFFER_CLASSES] = {
#define X(name, text, secret) [BUFFER_##name] = text,
    BUFFER_CLASS_LIST(X)
#undef X
};

static const char style[] =
    "<style>\n"
    "svg{--ground:#fff;--ink:#16202b;--dim:#5a6672;--grid:#e6e9ed;--lane:#eef1f4;--bad:#b3261e;"
    "--key:#3b6fb5;--shape:#7fa8dc;--witness:#1d8a7a;--eval_abc:#d98324;--ntt:#8f6bc1;--msm_scratch:#c2556e;"
    "--setup:#8a7150;--request:#6f9c2f;--pinned:#4aa3b8;--other:#98a2ad;"
    "--c0:#2f6fb7;--c1:#1d8a7a;--c2:#9a5fb5;--c3:#b5560f;--c4:#a3485f}\n"
    "@media(prefers-color-scheme:dark){svg{--ground:#171d24;--ink:#e6ebf0;--dim:#9aa7b4;--grid:#2a333d;--lane:#1f2730;"
    "--bad:#ff8f86;--key:#4f86cf;--shape:#8db9ee;--witness:#35b3a0;--eval_abc:#eb9c45;--ntt:#a688d8;"
    "--msm_scratch:#db7690;--setup:#ab9273;--request:#8fbd4c;--pinned:#63bfd4;--other:#8c98a4;"
    "--c0:#4f93dd;--c1:#35b3a0;--c2:#b98ad2;--c3:#ec8f4c;--c4:#db7690}}\n"
    "text{font:13px system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans',sans-serif;fill:var(--dim)}\n"
    ".title{font-size:17px;font-weight:650;fill:var(--ink)}.e{text-anchor:end}.m{text-anchor:middle}\n"
    ".grid{stroke:var(--grid)}.rss{fill:none;stroke:var(--ink);stroke-width:1.6}\n"
    ".reserved{fill:none;stroke:var(--dim);stroke-width:1.4;stroke-dasharray:2 3}\n"
    ".budget{fill:none;stroke:var(--bad);stroke-width:1.6;stroke-dasharray:7 4}.lane{fill:var(--lane)}\n"
    ".failed{stroke:var(--bad);stroke-width:2}\n"
    "</style>\n";

static double x_of(const plot *p, double seconds) {
    return LEFT + seconds / p->seconds * (WIDTH - LEFT - RIGHT);
}

static double y_of(const plot *p, double bytes) {
    return TOP + PLOT_HEIGHT - bytes / p->top_bytes * PLOT_HEIGHT;
}

static void put_escaped(FILE *f, const char *text) {
    for (; *text; text++) {
        switch (*text) {
        case '&': fputs("&amp;", f); break;
        case '<': fputs("&lt;", f); break;
        case '>': fputs("&gt;", f); break;
        default: fputc((unsigned char)*text < ' ' ? ' ' : *text, f);
        }
    }
}

/* ---- axes ---- */

static void scale(plot *p) {
    double used = 1 << 20, reserved = 0;
    const bench_run *r = p->r;
    p->seconds = r->seconds > 0.01 ? r->seconds : 0.01;
    for (size_t i = 0; i < r->n_samples; i++) {
        const bench_sample *s = &r->samples[i];
        if (s->at > p->seconds) p->seconds = s->at;
        used = fmax(used, fmax((double)s->rss, (double)s->tracked));
        reserved = fmax(reserved, (double)s->reserved);
    }
    p->reserved_shown = reserved <= 3 * used;
    if (p->reserved_shown) used = fmax(used, reserved);
    p->budget_shown = (double)r->budget <= 3 * used;
    p->top_bytes = 1.08 * (p->budget_shown ? fmax(used, (double)r->budget) : used);
}

static void put_bytes_axis(const plot *p) {
    double step = exp2(floor(log2(p->top_bytes / 4)));
    if (p->top_bytes / step > 6) step *= 2;
    for (double v = 0; v <= p->top_bytes; v += step) {
        char text[24];
        text_size(text, (uint64_t)v);
        fprintf(p->f, "<line class='grid' x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f'/>", LEFT, WIDTH - RIGHT, y_of(p, v),
                y_of(p, v));
        fprintf(p->f, "<text class='e' x='%.1f' y='%.1f'>%s</text>\n", LEFT - 8, y_of(p, v) + 4.5, v > 0 ? text : "0");
    }
}

static void put_time_axis(const plot *p, double bottom) {
    double raw = p->seconds / 8, unit = pow(10, floor(log10(raw))), step = unit;
    if (raw / unit > 5) {
        step = 10 * unit;
    } else if (raw / unit > 2) {
        step = 5 * unit;
    } else if (raw / unit > 1) {
        step = 2 * unit;
    }
    for (int i = 0; i * step <= p->seconds; i++) {
        double x = x_of(p, i * step);
        fprintf(p->f, "<line class='grid' x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f'/>", x, x, TOP, bottom);
        fprintf(p->f, "<text class='m' x='%.1f' y='%.1f'>%g s</text>\n", x, bottom + 18, i * step);
    }
}

/* ---- memory ---- */

static void put_area(const plot *p, int c, const double *below, const double *above) {
    const bench_run *r = p->r;
    fprintf(p->f, "<path fill='var(--%s)' d='M", class_names[c]);
    for (size_t i = 0; i < r->n_samples; i++) {
        fprintf(p->f, "%s%.1f %.1f", i ? "L" : "", x_of(p, r->samples[i].at), y_of(p, above[i]));
    }
    for (size_t i = r->n_samples; i-- > 0;) fprintf(p->f, "L%.1f %.1f", x_of(p, r->samples[i].at), y_of(p, below[i]));
    fputs("Z'/>\n", p->f);
}

static cuzk_status put_classes(const plot *p, cuzk_error *err) {
    const bench_run *r = p->r;
    double *below = calloc(2 * r->n_samples + 1, sizeof *below), *above = below + r->n_samples;
    if (!below) return cuzk_fail(err, CUZK_MEMORY, "no memory for the plot");
    for (int c = 0; c < BUFFER_CLASSES; c++) {
        bool any = false;
        for (size_t i = 0; i < r->n_samples; i++) {
            above[i] = below[i] + (double)r->samples[i].classes[c];
            any = any || r->samples[i].classes[c];
        }
        if (any) put_area(p, c, below, above);
        memcpy(below, above, r->n_samples * sizeof *below);
    }
    free(below);
    return CUZK_OK;
}

static void put_line(const plot *p, const char *name, size_t offset) {
    fprintf(p->f, "<path class='%s' d='M", name);
    for (size_t i = 0; i < p->r->n_samples; i++) {
        uint64_t v;
        memcpy(&v, (const char *)&p->r->samples[i] + offset, sizeof v);
        fprintf(p->f, "%s%.1f %.1f", i ? "L" : "", x_of(p, p->r->samples[i].at), y_of(p, (double)v));
    }
    fputs("'/>\n", p->f);
}

typedef struct legend {
    double x, y;
} legend;

/* An entry needs about this much room; the next line begins when the row is full. */
static void make_room(legend *l, const char *text) {
    double wide = 34 + 7.4 * (double)strlen(text);
    if (l->x > LEFT && l->x + wide > WIDTH - RIGHT) *l = (legend){LEFT, l->y + 20};
}

static void put_entry(const plot *p, legend *l, const char *text) {
    fprintf(p->f, "<text x='%.1f' y='%.1f'>", l->x + 18, l->y);
    put_escaped(p->f, text);
    fputs("</text>\n", p->f);
    l->x += 34 + 7.4 * (double)strlen(text);
}

static void put_line_entry(const plot *p, legend *l, const char *name, const char *text) {
    make_room(l, text);
    fprintf(p->f, "<line class='%s' x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f'/>", name, l->x, l->x + 14, l->y - 4.5,
            l->y - 4.5);
    put_entry(p, l, text);
}

static void put_legend(const plot *p) {
    char text[120], size[24];
    legend l = {LEFT, 50};
    const bench_run *r = p->r;
    for (int c = 0; c < BUFFER_CLASSES; c++) {
        if (!r->peak_classes[c]) continue;
        text_size(size, r->peak_classes[c]);
        snprintf(text, sizeof text, "%s %s", class_names[c], size);
        make_room(&l, text);
        fprintf(p->f, "<rect x='%.1f' y='%.1f' width='11' height='11' rx='2.5' fill='var(--%s)'/>", l.x, l.y - 10,
                class_names[c]);
        put_entry(p, &l, text);
    }
    text_size(size, r->peak_rss);
    snprintf(text, sizeof text, "RSS, at most %s", size);
    put_line_entry(p, &l, "rss", text);
    put_line_entry(p, &l, "reserved", p->reserved_shown ? "reserved" : "reserved: above the picture");
    text_size(size, r->budget);
    snprintf(text, sizeof text, "budget %s%s", size, p->budget_shown ? "" : ": above the picture");
    put_line_entry(p, &l, "budget", text);
}

/* ---- the waterfall ---- */

enum { MAX_ROWS = 160 };

typedef struct rows {
    const char *names[MAX_ROWS];
    size_t n;
    double height, top;
} rows;

static int lane_rank(const char *name) {
    if (!strncmp(name, "synthesis", 9)) return 0;
    return strncmp(name, "finish", 6) != 0 ? 1 : 2;
}

static int by_lane(const void *a, const void *b) {
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    int d = lane_rank(x) - lane_rank(y);
    return d ? d : strverscmp(x, y);
}

static rows find_rows(const bench_run *r, double top) {
    rows w = {.top = top};
    for (size_t i = 0; i < r->n_slices; i++) {
        size_t k = 0;
        while (k < w.n && strcmp(w.names[k], r->slices[i].lane) != 0) k++;
        if (k == w.n && w.n < MAX_ROWS) w.names[w.n++] = r->slices[i].lane;
    }
    qsort(w.names, w.n, sizeof *w.names, by_lane);
    w.height = w.n > 40 ? 10 : w.n > 20 ? 16 : 22;
    return w;
}

static void put_slice(const plot *p, const rows *w, const bench_slice *s) {
    size_t k = 0;
    while (k < w->n && strcmp(w->names[k], s->lane) != 0) k++;
    if (k == w->n || s->end < 0) return;
    double x0 = x_of(p, s->start > 0 ? s->start : 0), x1 = x_of(p, s->end < p->seconds ? s->end : p->seconds);
    double y = w->top + (double)k * w->height, wide = fmax(0.8, x1 - x0 - 0.7);
    fprintf(p->f, "<rect%s x='%.1f' y='%.1f' width='%.1f' height='%.1f' rx='%g' fill='var(--c%llu)'",
            s->failed ? " class='failed'" : "", x0, y + 1.5, wide, w->height - 3, wide > 6 ? 2.5 : 0,
            (unsigned long long)(s->job % 5));
    if (!strcmp(s->stage, "verify")) fputs(" opacity='.6'", p->f);
    fprintf(p->f, "><title>job %llu", (unsigned long long)s->job);
    if (s->partition != TRACE_NO_PARTITION) fprintf(p->f, ", partition %u", s->partition);
    fprintf(p->f, ": %s %.3f s</title></rect>\n", s->stage, s->end - s->start);
}

static void put_waterfall(const plot *p, const rows *w) {
    for (size_t k = 0; k < w->n; k++) {
        double y = w->top + (double)k * w->height;
        fprintf(p->f, "<rect class='lane' x='%.1f' y='%.1f' width='%.1f' height='%.1f'/>", LEFT, y + 1.5,
                WIDTH - LEFT - RIGHT, w->height - 3);
        fprintf(p->f, "<text class='e' x='%.1f' y='%.1f'>", LEFT - 8, y + w->height / 2 + 4.5);
        put_escaped(p->f, w->names[k]);
        fputs("</text>\n", p->f);
    }
    for (size_t i = 0; i < p->r->n_slices; i++) put_slice(p, w, &p->r->slices[i]);
}

/* ---- the file ---- */

static cuzk_status put_all(plot *p, const char *title, cuzk_error *err) {
    rows w = find_rows(p->r, TOP + PLOT_HEIGHT + 34);
    double bottom = w.n ? w.top + (double)w.n * w.height : TOP + PLOT_HEIGHT, height = bottom + 30;
    scale(p);
    fprintf(p->f,
            "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %g %g' width='%g' height='%g' role='img'>\n<title>",
            WIDTH, height, WIDTH, height);
    put_escaped(p->f, title);
    fprintf(p->f, "</title>\n%s<rect width='%g' height='%g' fill='var(--ground)'/>\n<text class='title' x='%g' y='26'>",
            style, WIDTH, height, LEFT);
    put_escaped(p->f, title);
    fputs("</text>\n", p->f);
    put_bytes_axis(p);
    put_time_axis(p, bottom);
    if (p->r->n_samples) {
        if (put_classes(p, err)) return err->status;
        if (p->reserved_shown) put_line(p, "reserved", offsetof(bench_sample, reserved));
        put_line(p, "rss", offsetof(bench_sample, rss));
        if (p->budget_shown) put_line(p, "budget", offsetof(bench_sample, budget));
    }
    put_legend(p);
    put_waterfall(p, &w);
    fputs("</svg>\n", p->f);
    return CUZK_OK;
}

cuzk_status bench_write_plot(char *path, size_t path_size, const char *folder, const bench_run *r, const char *title,
                             cuzk_error *err) {
    plot p = {.r = r};
    char *text = NULL;
    size_t len;
    p.f = open_memstream(&text, &len);
    if (!p.f) return cuzk_fail(err, CUZK_MEMORY, "no memory for the plot");
    cuzk_status s = put_all(&p, title, err);
    bool failed = ferror(p.f);
    failed = fclose(p.f) || failed;
    if (!s && failed) s = cuzk_fail(err, CUZK_MEMORY, "no memory for the plot");
    snprintf(path, path_size, "%s/plot-pw%u-gw%u.svg", folder, r->pw, r->gw);
    if (!s) s = file_write_all(path, text, len, false, err);
    free(text);
    return s;
}
