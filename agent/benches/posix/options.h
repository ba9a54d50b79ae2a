/* Options of POSIX, and which profiles require them. */
#ifndef RTS_OPTIONS_H
#define RTS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Creates, uses and destroys one object of an option, in a process of its own. Returns 0, or the
 * error of the step that failed and its text in *step.
 */
typedef int option_probe(const char **step);

/* The profiles of 1003.13-2003, and the four of 1998 as interpreted by Obenland. */
enum {
    PSE51 = 1 << 0,
    PSE52 = 1 << 1,
    PSE53 = 1 << 2,
    PSE54 = 1 << 3,
    FROM51 = PSE51 | PSE52 | PSE53 | PSE54,
    FROM52 = PSE52 | PSE53 | PSE54,
    FROM53 = PSE53 | PSE54,
    PSE51_1998 = 1 << 4,
    PSE52_1998 = 1 << 5,
    PSE53_1998 = 1 << 6,
    PSE54_1998 = 1 << 7,
    ALL_1998 = PSE51_1998 | PSE52_1998 | PSE53_1998 | PSE54_1998,
};

typedef struct posix_option {
    const char *name;  /* macro without _POSIX, or a module that no macro announces */
    const char *macro; /* its value as seen by the compiler; its name if it is undefined */
    option_probe *probe;
    int sysconf_name;  /* -1: none; only the probe decides */
    unsigned profiles; /* profiles that require it */
} posix_option;

/* The state of an option on this system. */
typedef struct option_state {
    long sysconf; /* -1: not supported */
    int error;    /* of the probe; 0: it worked */
} option_state;

typedef enum option_verdict {
    OPTION_NO,
    OPTION_YES,
    OPTION_PARTIAL,    /* announced, but the probe failed */
    OPTION_UNANNOUNCED /* works, but is not announced */
} option_verdict;

option_verdict option_judge(const posix_option *o, const option_state *f);

typedef struct posix_profile {
    unsigned bit;
    const char *name, *edition;
} posix_profile;

extern const posix_profile posix_profiles[];
extern const size_t posix_profiles_n;

/*
 * Number of options that a profile requires, how many of them are fully supported, and the names of
 * the others in `missing`, separated by commas.
 */
typedef struct profile_count {
    unsigned required, present;
} profile_count;
profile_count profile_judge(unsigned bit, const posix_option *o, const option_state *f, size_t n,
                            char *missing, size_t size);

/* The table of section 8. */
extern const posix_option posix_option_table[];
extern const size_t posix_option_table_n;

#endif
