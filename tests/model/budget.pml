/* The protocol by which partitions get their bytes, keys are loaded and evicted, and waiters are woken.
 *
 * What is modelled: the budget with its critical share (engine/budget.c), the store of keys (engine/resources.c:
 * reference and bytes in one step, eviction of what nobody uses, one load however many ask), and the engine's rule for
 * waiting (engine/schedule.c, engine/synthesis.c: the head of the queue alone tries; who is refused remembers the
 * generation that it saw BEFORE it tried, and tries again as soon as the generation is another one).
 *
 * Three partitions of low priority on two keys that do not fit together, and one critical partition that comes at any
 * moment; two workers, and one that serves critical work alone. Every section under a lock is one atomic step.
 *
 * The generation is a number that every change raises, and wakes all who sleep; the number of rooms is raised only when
 * bytes may have come free. Here each worker has a flag for each instead that says whether it was raised since the worker
 * read it, which is all that matters and keeps the states few.
 *
 * Checked in every state: never more reserved than there is, low work never in the critical share, no reference to what
 * is not loaded, no endless trying (nobody wakes himself by being refused). At the end: all partitions
 * are done, nobody waits for ever (no invalid end state), everything can be given back.
 *
 * Faults, each of which has to be found (tests/model/test_model.sh):
 *   LOST_WAKEUP    the generation is read after the try was refused: a release in between is not heard
 *   SILENT_UNUSE   a key that comes out of use wakes nobody
 *   KEEP_KEY       who waits for bytes keeps its reference
 *   NO_SHARE       critical work has no share of its own
 *   SELF_WAKE      who is refused gives back in a way that makes waiters try again
 *   ANY_CHANGE     who was refused tries again after any change, such as that another one begins to load a key
 *   NO_OWN_WORKER  critical work waits for a worker that low work may have taken
 * LOW_HOLDS: low partitions end only when the critical one is done, so that it must get through beside them.
 */

#ifdef NO_SHARE
#define TOTAL 5 /* the pinned key, another one, and two partitions: full */
#else
#define TOTAL 6
#endif
#define SHARE 2
#define KEYS 3      /* 2 is the critical one's: loaded and pinned from the start */
#define JOBS 4      /* in the order of the queue; 0 is critical */
#define KEY_BYTES 2 /* 1 for the pinned one */
#define PLAN_BYTES 1
#define WORKERS 3
#define TRIES 12 /* refused ones without anything having happened */

#define critical(j) ((j) == 0)
#ifdef LOW_HOLDS
#define other_key 3 /* so that both workers have one that holds */
#else
#define other_key 2
#endif
#define key_of(j) ((j) == 0 -> 2 : ((j) == other_key -> 1 : 0))

/* ---- the budget ---- */
byte reserved, critical_reserved;

#ifdef NO_SHARE
#define kept 0
#else
#define kept (critical_reserved < SHARE -> SHARE - critical_reserved : 0)
#endif
#define fits(n, c) (reserved + (n) + ((c) -> 0 : kept) <= TOTAL)

inline take(n, c) {
    reserved = reserved + (n);
    if
    :: c -> critical_reserved = critical_reserved + (n)
    :: else
    fi;
    assert(reserved <= TOTAL);
#ifndef NO_SHARE
    assert(reserved - critical_reserved <= TOTAL - SHARE);
#endif
}

/* ---- the engine's generation, and its rooms ---- */
bool awake[WORKERS]; /* the generation was raised since the worker read it */
bool led;             /* of the idle workers for all jobs one waits for the generation, the others for its place */
bool follow[WORKERS]; /* waits to follow */
bool stale[WORKERS]; /* the rooms were raised since the worker read them */
bool blocked[JOBS];  /* refused, and the rooms not raised since what the refused one had read */
byte tries;

inline change() {
    d_step { awake[0] = true; awake[1] = true; awake[2] = true }
#ifdef ANY_CHANGE
    room()
#endif
}
inline room() {
    d_step {
        awake[0] = true; awake[1] = true; awake[2] = true;
        stale[0] = true; stale[1] = true; stale[2] = true;
        blocked[0] = false; blocked[1] = false; blocked[2] = false; blocked[3] = false
    }
}
inline bump() { /* the budget's on_release, after the bytes are back */
    atomic { tries = 0; room() }
}

/* ---- keys ---- */
bool loaded[KEYS], busy[KEYS];
byte refs[KEYS];

/* ---- jobs ---- */
bool pending[JOBS], done[JOBS], loading[JOBS];
bool taking[2]; /* one low and one critical try at a time */

inline give_back(n, c) {
    atomic {
        reserved = reserved - (n);
        if
        :: c -> critical_reserved = critical_reserved - (n)
        :: else
        fi
    }
    bump()
}

/* The next job for this worker, or NONE: the first pending one; nobody after one that was refused at this generation. */
#define NONE 9
inline pick(only_critical) {
    j = NONE;
    i = 0;
    do
    :: i >= JOBS || (only_critical && i > 0) -> break
    :: else ->
        if
        :: !pending[i] || loading[i] -> i++
        :: else ->
            if
            :: blocked[i] -> break
            :: taking[critical(i)] -> break
            :: else -> j = i; break
            fi
        fi
    od
}

/* Of a try: a key that nobody uses is put out, when there is one. */
inline evict_other(k) {
    v = NONE;
    atomic {
        i = 0;
        do
        :: i < 2 ->
            if
            :: i != k && loaded[i] && !busy[i] && refs[i] == 0 -> v = i; busy[i] = true; break
            :: else -> i++
            fi
        :: else -> break
        od
    }
    if
    :: v != NONE ->
        loaded[v] = false;
        busy[v] = false; /* the order of resources.c: no longer busy, then the bytes, then the call-back */
        give_back(KEY_BYTES, false)
    :: else
    fi
}

/* resources_acquire: got tells how it ended. Two rounds of pressing, as in the code. */
inline acquire(k, c) {
    got = false;
    passes = 0;
    do
    :: atomic {
        !busy[k] -> /* waits for another's load */
            if
            :: loaded[k] && fits(PLAN_BYTES, c) ->
                take(PLAN_BYTES, c); refs[k]++; got = true; break
            :: !loaded[k] && fits(KEY_BYTES + PLAN_BYTES, c) ->
                take(KEY_BYTES + PLAN_BYTES, c); busy[k] = true; load = true
            :: else -> load = false
            fi
       }
       if
       :: load -> /* without any lock */
            atomic { loaded[k] = true; busy[k] = false; refs[k]++; load = false }
            bump();
            got = true;
            break
       :: else ->
            if
            :: passes == 2 -> break
            :: else -> passes++; evict_other(k)
            fi
       fi
    od
}

inline not_taking() {
    if
    :: early -> loading[j] = false
    :: else -> taking[c] = false
    fi
}

proctype worker(byte me; bool only_critical) {
    byte j, i, v, passes;
    bool got, load, early, c, leads, follows;
    do
    :: atomic {
        pick(only_critical);
        stale[me] = false;
        awake[me] = false;
        if
        :: j != NONE ->
            pending[j] = false; taking[critical(j)] = true;
            if /* the lead is free: one that follows looks in its turn */
            :: !led && follow[0] -> follow[0] = false
            :: !led && !follow[0] && follow[1] -> follow[1] = false
            :: else
            fi
        :: j == NONE && !only_critical && led -> follow[me] = true; follows = true
        :: j == NONE && !only_critical && !led -> led = true; leads = true
        :: else
        fi
       }
       if
       :: j == NONE ->
            if
            :: only_critical && done[0] -> break
            :: done[0] && done[1] && done[2] && done[3] -> break
            :: only_critical && awake[me] -> skip /* sleeps until then */
            :: leads && awake[me] -> atomic { led = false; leads = false }
            :: follows && !follow[me] -> follows = false /* was signalled */
            fi
       :: else ->
            c = critical(j);
#ifdef KEEP_KEY
            /* key first, then the bytes, keeping the key meanwhile */
            do
            :: atomic {
                !busy[key_of(j)] ->
                    if
                    :: loaded[key_of(j)] -> refs[key_of(j)]++; break
                    :: !loaded[key_of(j)] && fits(KEY_BYTES, c) ->
                        take(KEY_BYTES, c); loaded[key_of(j)] = true; refs[key_of(j)]++; break
                    :: else -> load = false
                    fi
               }
               evict_other(key_of(j));
               if
               :: v == NONE -> atomic { taking[c] = false; stale[me] -> stale[me] = false }
               :: else
               fi
            od;
            do
            :: atomic { fits(PLAN_BYTES, c) -> take(PLAN_BYTES, c); got = true; break }
            :: atomic { !fits(PLAN_BYTES, c) -> taking[c] = false };
               evict_other(key_of(j));
               if
               :: v == NONE -> atomic { stale[me] -> stale[me] = false }
               :: else
               fi
            od;
#else
            early = false;
            atomic { /* others may try while a key is loaded */
                if
                :: !loaded[key_of(j)] -> early = true; taking[c] = false; loading[j] = true; change()
                :: else
                fi
            }
            acquire(key_of(j), c);
#endif
            if
            :: got ->
                atomic { not_taking(); change() } /* it begins */
#ifdef LOW_HOLDS
                if
                :: !c -> done[0]
                :: else
                fi;
#endif
                atomic { done[j] = true }
                bump();
                give_back(PLAN_BYTES, c);
                atomic { assert(loaded[key_of(j)] && refs[key_of(j)] > 0); refs[key_of(j)]-- }
#ifndef SILENT_UNUSE
                bump()
#endif
            :: else ->
#ifdef SELF_WAKE
                atomic { room() };
#endif
                atomic {
#ifdef LOST_WAKEUP
                    stale[me] = false;
#endif
                    tries++;
                    assert(tries < TRIES);
                    blocked[j] = !stale[me];
                    not_taking();
                    pending[j] = true
                }
            fi
       fi;
       atomic { j = 0; i = 0; v = 0; passes = 0; got = false; load = false; early = false; c = false }
    od
}

/* The critical job comes at any moment. */
proctype client() {
    atomic { pending[0] = true; tries = 0; room() }
}

init {
    byte i;
    pid first = _nr_pr;
    atomic {
        take(1, true);
        loaded[2] = true;
        refs[2] = 1; /* pinned */
        pending[1] = true; pending[2] = true; pending[3] = true;
        run worker(0, false);
        run worker(1, false);
#ifndef NO_OWN_WORKER
        run worker(2, true);
#endif
        run client()
    }
    _nr_pr == first;
    /* All is done; everything can be given back. */
    assert(done[0] && done[1] && done[2] && done[3]);
    assert(refs[0] == 0 && refs[1] == 0 && refs[2] == 1);
    i = 0;
    do
    :: i < 2 ->
        if
        :: loaded[i] -> reserved = reserved - KEY_BYTES
        :: else
        fi;
        i++
    :: else -> break
    od;
    assert(reserved == 1 && critical_reserved == 1 && !taking[0] && !taking[1])
}
