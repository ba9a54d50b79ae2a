/* Checks for the agent's unit tests: a failed check prints its place and makes the program fail. */
#ifndef RTS_CHECK_H
#define RTS_CHECK_H

#include <stdio.h>

extern int checks_failed;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            checks_failed++;                                                                       \
            fprintf(stderr, "%s:%d: %s: not true: %s\n", __FILE__, __LINE__, __func__,             \
                    #condition);                                                                   \
        }                                                                                          \
    } while (0)

/* Compares both sides as unsigned integers, and prints them. */
#define CHECK_EQ(actual, expected)                                                                 \
    do {                                                                                           \
        unsigned long long a_ = (unsigned long long)(actual), e_ = (unsigned long long)(expected); \
        if (a_ != e_) {                                                                            \
            checks_failed++;                                                                       \
            fprintf(stderr, "%s:%d: %s: %s is %llu, expected %llu\n", __FILE__, __LINE__,          \
                    __func__, #actual, a_, e_);                                                    \
        }                                                                                          \
    } while (0)

#define CHECK_STR(actual, expected)                                                                \
    do {                                                                                           \
        const char *a_ = (actual), *e_ = (expected);                                               \
        if (strcmp(a_, e_)) {                                                                      \
            checks_failed++;                                                                       \
            fprintf(stderr, "%s:%d: %s: %s is '%s', expected '%s'\n", __FILE__, __LINE__,          \
                    __func__, #actual, a_, e_);                                                    \
        }                                                                                          \
    } while (0)

/* The function that runs the tests; different on a system that starts with tasks of its own. */
#ifndef CHECK_MAIN
#define CHECK_MAIN main
#endif

#define TESTS(...)                                                                                 \
    int checks_failed;                                                                             \
    int CHECK_MAIN(void);                                                                          \
    int CHECK_MAIN(void)                                                                           \
    {                                                                                              \
        void (*const tests[])(void) = {__VA_ARGS__};                                               \
        for (unsigned i = 0; i < sizeof tests / sizeof tests[0]; i++)                              \
            tests[i]();                                                                            \
        return checks_failed != 0;                                                                 \
    }

#endif
