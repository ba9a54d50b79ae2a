/* Which options exist, and which profiles they add up to. */
#include <stdio.h>
#include <string.h>

#include "options.h"

const posix_profile posix_profiles[] = {
    {PSE51, "PSE51", "2003"},
    {PSE52, "PSE52", "2003"},
    {PSE53, "PSE53", "2003"},
    {PSE54, "PSE54", "2003"},
    {PSE51_1998, "PSE51", "1998: threads, one process, no file system"},
    {PSE52_1998, "PSE52", "1998: threads, one process, file system"},
    {PSE53_1998, "PSE53", "1998: threads, several processes, no file system"},
    {PSE54_1998, "PSE54", "1998: threads, several processes, file system"},
};
const size_t posix_profiles_n = sizeof posix_profiles / sizeof posix_profiles[0];

option_verdict option_judge(const posix_option *o, const option_state *f)
{
    bool announced = o->sysconf_name < 0 || f->sysconf > 0;
    if (announced)
        return !f->error ? OPTION_YES : o->sysconf_name < 0 ? OPTION_NO : OPTION_PARTIAL;
    return f->error ? OPTION_NO : OPTION_UNANNOUNCED;
}

profile_count profile_judge(unsigned bit, const posix_option *o, const option_state *f, size_t n,
                            char *missing, size_t size)
{
    profile_count count = {0, 0};
    size_t used = 0;
    missing[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        if (!(o[i].profiles & bit))
            continue;
        count.required++;
        if (option_judge(&o[i], &f[i]) == OPTION_YES) {
            count.present++;
        } else if (used < size) {
            int length = snprintf(missing + used, size - used, "%s%s", used ? ", " : "", o[i].name);
            used += length > 0 ? (size_t)length : 0;
        }
    }
    return count;
}
