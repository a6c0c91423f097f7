/* The table of settings: what the reader, the printer and the comparison share. */
#ifndef CUZK_DAEMON_CONFIG_TABLE_H
#define CUZK_DAEMON_CONFIG_TABLE_H

#include "daemon/config.h"

typedef enum config_kind {
    CONFIG_TEXT,
    CONFIG_TEXT_LIST, /* one text or a list */
    CONFIG_TRUTH,
    CONFIG_COUNT,
    CONFIG_SIZE,      /* 1048576, "50GiB" */
    CONFIG_SIZE_AUTO, /* or "auto" */
    CONFIG_SECONDS,   /* 300, "300", "300s", "5m", "2h", "1d" */
    CONFIG_CHOICE,
    CONFIG_MODE,     /* "0660" */
    CONFIG_ORDINALS, /* [0, 1] */
    CONFIG_CIRCUITS  /* names of circuits, in our spelling or the older daemon's */
} config_kind;

typedef struct config_row {
    const char *section, *name;
    config_kind kind;
    size_t offset;       /* of the field in config */
    const char *initial; /* the default as it stands in a file */
    uint64_t min, max;   /* COUNT, SIZE, SECONDS */
    const char *choices; /* CHOICE: words between spaces */
    bool live;           /* SIGHUP takes it over */
    const char *text;    /* for the sample; lines end in \n */
} config_row;

extern const config_row config_rows[];
extern const size_t config_row_count;

typedef struct config_section {
    const char *name, *text;
} config_section;
extern const config_section config_sections[];
extern const size_t config_section_count;

/* Settings that are no more, or are called otherwise now. */
typedef struct config_old {
    const char *section, *name;
    const char *now;  /* "synthesis.queue_depth": its value is taken over; NULL: it is ignored */
    const char *text; /* why, and what instead */
} config_old;
extern const config_old config_old_rows[];
extern const size_t config_old_count;

#endif
