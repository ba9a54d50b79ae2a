/* Actions of load provoke: rules of a firewall, in a network namespace of the process's own. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "linux.h"
#include "provoke.h"

#define TABLE "rtstone"
#define CHAIN "input"
#define AT_ONCE 500 /* rules in a transaction, which has to fit into a message */

static int filter = -1;
static char text[AT_ONCE * 64]; /* messages of a transaction */
static size_t used;

/* Begins a message to the part of the kernel that filters packets; returns its head. */
static struct nlmsghdr *message(int type, int flags, uint16_t resource)
{
    struct nlmsghdr *head = (void *)(text + used);
    struct nfgenmsg *family = NLMSG_DATA(head);
    *head = (struct nlmsghdr){.nlmsg_len = NLMSG_LENGTH(sizeof *family),
                              .nlmsg_type = (uint16_t)type,
                              .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags)};
    *family = (struct nfgenmsg){.nfgen_family = NFPROTO_IPV4, .res_id = htons(resource)};
    used += head->nlmsg_len;
    return head;
}

/* Begins a message about tables, chains or rules. */
static struct nlmsghdr *about(int type, int flags)
{
    return message(NFNL_SUBSYS_NFTABLES << 8 | type, flags, 0);
}

/* Adds an attribute to the last message; returns it. */
static struct nlattr *attribute(struct nlmsghdr *head, int type, const void *value, size_t size)
{
    struct nlattr *at = (void *)(text + used);
    *at = (struct nlattr){.nla_len = (uint16_t)(NLA_HDRLEN + size), .nla_type = (uint16_t)type};
    memcpy((char *)at + NLA_HDRLEN, value, size);
    used += NLA_ALIGN(at->nla_len);
    head->nlmsg_len = (uint32_t)(text + used - (char *)head);
    return at;
}

static void begin(void)
{
    used = 0;
    message(NFNL_MSG_BATCH_BEGIN, 0, NFNL_SUBSYS_NFTABLES);
}

/* Sends the transaction, of which the last message asks for an answer: an error, or 0. */
static bool commit(rts_worker *w)
{
    struct {
        struct nlmsghdr head;
        struct nlmsgerr error;
        char rest[256];
    } answer = {0};
    message(NFNL_MSG_BATCH_END, 0, NFNL_SUBSYS_NFTABLES);
    bool good = send(filter, text, used, 0) == (ssize_t)used &&
                recv(filter, &answer, sizeof answer, 0) >= (ssize_t)sizeof answer.head;
    if (good && answer.error.error) {
        errno = -answer.error.error;
        good = false;
    }
    return provoke_good(w, good, "rules of a firewall (nf_tables)");
}

static bool begin_firewall(rts_worker *w, unsigned n)
{
    (void)n;
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    if (!provoke_good(w, !unshare(CLONE_NEWUSER | CLONE_NEWNET), "a network namespace of its own"))
        return false;
    filter = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
    return provoke_good(w,
                        filter >= 0 && !connect(filter, (struct sockaddr *)&kernel, sizeof kernel),
                        "rules of a firewall (nf_tables)");
}

/* Makes a table whose chain all packets to this machine pass. */
static bool make_chain(rts_worker *w)
{
    const uint32_t hook = htonl(NF_INET_LOCAL_IN), priority = 0;
    begin();
    attribute(about(NFT_MSG_NEWTABLE, NLM_F_CREATE), NFTA_TABLE_NAME, TABLE, sizeof TABLE);
    struct nlmsghdr *chain = about(NFT_MSG_NEWCHAIN, NLM_F_CREATE | NLM_F_ACK);
    attribute(chain, NFTA_CHAIN_TABLE, TABLE, sizeof TABLE);
    attribute(chain, NFTA_CHAIN_NAME, CHAIN, sizeof CHAIN);
    attribute(chain, NFTA_CHAIN_TYPE, "filter", sizeof "filter");
    struct nlattr *place = attribute(chain, NFTA_CHAIN_HOOK | NLA_F_NESTED, "", 0);
    attribute(chain, NFTA_HOOK_HOOKNUM, &hook, sizeof hook);
    attribute(chain, NFTA_HOOK_PRIORITY, &priority, sizeof priority);
    place->nla_len = (uint16_t)(text + used - (char *)place);
    return commit(w);
}

static bool remove_table(rts_worker *w)
{
    begin();
    attribute(about(NFT_MSG_DELTABLE, NLM_F_ACK), NFTA_TABLE_NAME, TABLE, sizeof TABLE);
    return commit(w);
}

/* Adds n rules that let each packet pass, and takes the table away. */
static bool firewall(rts_worker *w, unsigned n)
{
    if (!make_chain(w))
        return false;
    for (unsigned left = n; left;) {
        begin();
        for (unsigned i = 0; left && i < AT_ONCE; i++) {
            left--;
            struct nlmsghdr *rule =
                about(NFT_MSG_NEWRULE,
                      NLM_F_CREATE | NLM_F_APPEND | (left && i + 1 < AT_ONCE ? 0 : NLM_F_ACK));
            attribute(rule, NFTA_RULE_TABLE, TABLE, sizeof TABLE);
            attribute(rule, NFTA_RULE_CHAIN, CHAIN, sizeof CHAIN);
        }
        if (!commit(w))
            return false;
    }
    return remove_table(w);
}

const provoke_action provoke_net[] = {
    {.name = "firewall", .n = 200, .begin = begin_firewall, .round = firewall},
    {0},
};
