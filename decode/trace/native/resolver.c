#include "decode/trace/native/resolver.h"

#include <string.h>

/* How uncommitted elements from before the trace began, and a later Trace Info, are held. */
enum { HELD_UNSEEN = CSP_PACKET_BAD, HELD_INFO = CSP_PACKET_TRACE_INFO };

/* TRCIDR0, TRCIDR2, TRCCONFIGR */
enum { IDR0_TSMARK = 1u << 23, IDR0_COMMTRANS = 1u << 26, CONFIGR_RS = 1u << 12 };
static const uint32_t idr2_wfxmode = 1u << 31;

/* TRCIDR2.WFXMODE is from ETMv4.3 on; TRCIDR1 has major and minor version in bits [11:4]. */
static bool waits_are_waypoints(const struct csp_trace_config *config)
{
    bool has_mode = config->protocol == CSP_PROTOCOL_ETE || (config->idr1 >> 4 & 0xff) >= 0x43;
    return has_mode && (config->idr2 & idr2_wfxmode);
}

void csp_resolver_init(struct csp_resolver *resolver, const struct csp_trace_config *config,
                       uint8_t source, const struct csp_code_memory *code,
                       struct csp_element_batch *out)
{
    bool is_ete = config->protocol == CSP_PROTOCOL_ETE;
    *resolver = (struct csp_resolver){
        .walker = {.out = out,
                   .code = code,
                   .source = source,
                   .waits = waits_are_waypoints(config),
                   .has_return_stack = config->configr & CONFIGR_RS,
                   .returns_by_branch = is_ete},
        .is_ete = is_ete,
        .transaction_start_is_p0 = !(config->idr0 & IDR0_COMMTRANS),
        .timestamps_need_a_marker =
            is_ete && (config->devarch >> 16 & 15) && (config->idr0 & IDR0_TSMARK),
        .depth_max = config->idr8,
        .context_field = csp_trace_config_context_field(config),
    };
    csp_regions_init(&resolver->walker.regions);
    csp_resolver_reset(resolver);
}

void csp_resolver_free(struct csp_resolver *resolver)
{
    csp_vec_free(&resolver->held);
    csp_walker_free(&resolver->walker);
}

void csp_resolver_reset(struct csp_resolver *resolver)
{
    csp_walker_reset(&resolver->walker);
    resolver->held.len = resolver->first = 0;
    resolver->depth = 0;
    resolver->address_pending = resolver->synced = resolver->marker_seen = false;
    resolver->isa = 0;
    resolver->context_id = resolver->vmid = 0;
}

/* Moves what is held to the front, once more was let go than is left. */
static void compact(struct csp_resolver *resolver)
{
    size_t left = resolver->held.len - resolver->first;
    if (left && (resolver->first < 256 || resolver->first < left))
        return;
    if (left)
        memmove(resolver->held.data, resolver->held.data + resolver->first,
                left * sizeof *resolver->held.data);
    resolver->first = 0;
    resolver->held.len = left;
}

static struct csp_held *hold(struct csp_resolver *resolver, uint8_t type)
{
    compact(resolver);
    csp_vec_push(&resolver->held, (struct csp_held){.type = type});
    return &resolver->held.data[resolver->held.len - 1];
}

static bool is_empty(const struct csp_resolver *resolver)
{
    return resolver->first == resolver->held.len;
}

static struct csp_held *oldest(struct csp_resolver *resolver)
{
    return &resolver->held.data[resolver->first];
}

static struct csp_element *add(struct csp_resolver *resolver, enum csp_element_type type)
{
    return csp_element_batch_add(resolver->walker.out, type, resolver->walker.source);
}

static bool is_p0(const struct csp_resolver *resolver, const struct csp_held *held)
{
    switch (held->type) {
    case HELD_UNSEEN:
    case CSP_PACKET_ATOMS:
    case CSP_PACKET_EXCEPTION:
    case CSP_PACKET_RESET:
    case CSP_PACKET_Q:
    case CSP_PACKET_SOURCE_ADDRESS:
        return true;
    case CSP_PACKET_TRANSACTION_START:
        return resolver->transaction_start_is_p0;
    default:
        return false;
    }
}

static void apply_context(struct csp_resolver *resolver, const struct csp_packet_context *context,
                          uint8_t isa)
{
    if (!context->changed)
        return;
    if (context->has_context_id)
        resolver->context_id = context->context_id;
    if (context->has_vmid)
        resolver->vmid = context->vmid;
    struct csp_element *element = add(resolver, CSP_ELEMENT_CONTEXT);
    element->a = resolver->context_id;
    element->b = resolver->vmid;
    element->el = context->el;
    element->secure = !context->non_secure || context->nse;
    csp_walker_set_width(&resolver->walker, context->is_64bit, isa);
    uint64_t process = resolver->context_field == CSP_CONTEXT_ID     ? resolver->context_id
                       : resolver->context_field == CSP_CONTEXT_VMID ? resolver->vmid
                                                                     : 0;
    if (process == resolver->walker.context_id)
        return;
    csp_walker_set_context(&resolver->walker, process);
}

static void apply_trace_on(struct csp_resolver *resolver, bool is_enabling, uint64_t offset)
{
    if (is_enabling)
        add(resolver, CSP_ELEMENT_SYNC);
    add(resolver, CSP_ELEMENT_TRACE_ON)->a = offset;
    csp_return_stack_clear(&resolver->walker.stack);
}

void csp_resolver_take_timestamp(struct csp_resolver *resolver, uint64_t timestamp)
{
    if (!resolver->timestamps_need_a_marker || resolver->marker_seen)
        add(resolver, CSP_ELEMENT_TIMESTAMP)->a = timestamp;
}

/* What survives a discard and the end of the trace: it is certain whatever was speculative. */
static void apply_independent(struct csp_resolver *resolver, const struct csp_held *held)
{
    switch (held->type) {
    case CSP_PACKET_TIMESTAMP:
        csp_resolver_take_timestamp(resolver, held->value);
        break;
    case CSP_PACKET_TIMESTAMP_MARKER:
        resolver->marker_seen = true;
        add(resolver, CSP_ELEMENT_OTHER);
        break;
    case CSP_PACKET_CYCLE_COUNT:
    case CSP_PACKET_EVENT:
    case CSP_PACKET_INSTRUMENTATION:
        add(resolver, CSP_ELEMENT_OTHER);
        break;
    default:
        break;
    }
}

/* The context, where there is one, and address that must follow an exception or Q. */
static bool take_address(struct csp_resolver *resolver, struct csp_held *context,
                         struct csp_held *address)
{
    context->context.changed = false;
    if (!is_empty(resolver) && oldest(resolver)->type == CSP_PACKET_CONTEXT)
        *context = resolver->held.data[resolver->first++];
    if (is_empty(resolver) || oldest(resolver)->type != CSP_PACKET_ADDRESS)
        return false;
    *address = resolver->held.data[resolver->first++];
    return true;
}

static void tell_exception(struct csp_resolver *resolver, uint32_t number, bool is_branch_target,
                           uint64_t address, uint8_t isa)
{
    struct csp_walker *walker = &resolver->walker;
    if (is_branch_target)
        csp_walker_jump(walker, address, isa);
    csp_walker_run_to(walker, address);
    struct csp_element *element = add(resolver, CSP_ELEMENT_EXCEPTION);
    element->number = number;
    element->has_address = true;
    element->a = address;
}

static bool apply_exception(struct csp_resolver *resolver, const struct csp_held *held)
{
    struct csp_walker *walker = &resolver->walker;
    struct csp_held context, address;
    if (held->flag)
        walker->pop_pending = false; /* the target comes with the exception */
    if (!csp_walker_pop(walker) || !take_address(resolver, &context, &address))
        return false;
    apply_context(resolver, &context.context, context.isa);
    tell_exception(resolver, held->number, held->flag, address.value, address.isa);
    return true;
}

static bool apply_q(struct csp_resolver *resolver, const struct csp_held *held)
{
    struct csp_walker *walker = &resolver->walker;
    if (held->flag) {
        csp_walker_run_count(walker, held->count, held->value, held->isa);
        return true;
    }
    struct csp_held context, address;
    if (!take_address(resolver, &context, &address))
        return false;
    csp_walker_run_count(walker, held->count, address.value, address.isa);
    apply_context(resolver, &context.context, context.isa);
    return true;
}

/* Elements without a P0 count; false when `held` needs others that are not there. */
static bool apply(struct csp_resolver *resolver, const struct csp_held *held)
{
    struct csp_walker *walker = &resolver->walker;
    switch (held->type) {
    case CSP_PACKET_TRACE_ON:
        apply_trace_on(resolver, held->flag, held->value);
        return true;
    case CSP_PACKET_ADDRESS:
        csp_walker_jump(walker, held->value, held->isa);
        return true;
    case CSP_PACKET_CONTEXT:
        apply_context(resolver, &held->context, held->isa);
        return true;
    case HELD_INFO:
        csp_return_stack_clear(&walker->stack);
        walker->stack_waits = true;
        return true;
    case CSP_PACKET_EXCEPTION:
        return apply_exception(resolver, held);
    case CSP_PACKET_RESET:
        add(resolver, CSP_ELEMENT_EXCEPTION)->number = held->number;
        return csp_walker_pop(walker);
    case CSP_PACKET_EXCEPTION_RETURN:
        add(resolver, CSP_ELEMENT_EXCEPTION_RETURN);
        return true;
    case CSP_PACKET_Q:
        return apply_q(resolver, held);
    case CSP_PACKET_SOURCE_ADDRESS:
        csp_walker_branch_at(walker, held->value);
        return true;
    case CSP_PACKET_TRANSACTION_START:
    case CSP_PACKET_TRANSACTION_COMMIT:
    case CSP_PACKET_TRANSACTION_FAIL:
        add(resolver, CSP_ELEMENT_OTHER);
        return true;
    default:
        apply_independent(resolver, held);
        return true;
    }
}

/* Takes `*count` of the oldest element's atoms, or as many as it has. */
static bool commit_atoms(struct csp_resolver *resolver, uint64_t *count)
{
    struct csp_held *held = oldest(resolver);
    uint32_t taken = *count < held->count ? (uint32_t)*count : held->count;
    uint32_t atoms = held->atoms;
    held->atoms >>= taken;
    held->count -= taken;
    *count -= taken;
    if (!held->count)
        resolver->first++;
    return csp_walker_atoms(&resolver->walker, atoms, taken);
}

static void commit_unseen(struct csp_resolver *resolver, uint64_t *count)
{
    struct csp_held *held = oldest(resolver);
    uint32_t taken = *count < held->count ? (uint32_t)*count : held->count;
    held->count -= taken;
    *count -= taken;
    if (!held->count)
        resolver->first++;
}

/* Commits the `count` oldest P0 elements; false when there are not as many, or they make no sense.
 */
static bool commit(struct csp_resolver *resolver, uint64_t count)
{
    bool fits = true;
    resolver->depth -= count < resolver->depth ? count : resolver->depth;
    while (count && fits) {
        if (is_empty(resolver))
            return false;
        if (oldest(resolver)->type == CSP_PACKET_ATOMS) {
            fits = commit_atoms(resolver, &count);
        } else if (oldest(resolver)->type == HELD_UNSEEN) {
            commit_unseen(resolver, &count);
        } else {
            struct csp_held held = resolver->held.data[resolver->first++];
            count -= is_p0(resolver, &held);
            fits = apply(resolver, &held);
        }
    }
    return fits;
}

/* Cancels the `count` newest P0 elements, and what belongs to them. */
static bool cancel(struct csp_resolver *resolver, uint64_t count)
{
    CSP_VEC(struct csp_held) kept = {0};
    resolver->depth -= count < resolver->depth ? count : resolver->depth;
    while (count && !is_empty(resolver)) {
        struct csp_held *newest = &resolver->held.data[resolver->held.len - 1];
        if (newest->type == CSP_PACKET_ATOMS || newest->type == HELD_UNSEEN) {
            uint32_t taken = count < newest->count ? (uint32_t)count : newest->count;
            newest->count -= taken;
            count -= taken;
            if (newest->count)
                break;
        } else if (is_p0(resolver, newest)) {
            count--;
        } else if (newest->type == CSP_PACKET_TIMESTAMP ||
                   newest->type == CSP_PACKET_TIMESTAMP_MARKER ||
                   newest->type == CSP_PACKET_CYCLE_COUNT || newest->type == CSP_PACKET_EVENT ||
                   newest->type == CSP_PACKET_INSTRUMENTATION) {
            csp_vec_push(&kept, *newest);
        }
        resolver->held.len--;
    }
    for (size_t i = kept.len; i > 0; i--)
        csp_vec_push(&resolver->held, kept.data[i - 1]);
    csp_vec_free(&kept);
    return !count;
}

/* The newest atom came out the other way; addresses traced since belong to the wrong path. */
static bool mispredict(struct csp_resolver *resolver)
{
    bool found = false;
    for (size_t i = resolver->held.len; i > resolver->first && !found; i--) {
        struct csp_held *held = &resolver->held.data[i - 1];
        if (held->type == CSP_PACKET_ATOMS) {
            held->atoms ^= 1u << (held->count - 1);
            found = true;
        } else if (held->type == HELD_UNSEEN) {
            found = true;
        } else if (held->type == CSP_PACKET_ADDRESS) {
            held->type = CSP_PACKET_IGNORE;
        }
    }
    return found;
}

/* Lets go of what no P0 element comes before: a long wait can be nothing but timestamps. */
static bool relieve(struct csp_resolver *resolver)
{
    if (resolver->held.len - resolver->first < CSP_RESOLVER_HELD_MAX)
        return true;
    while (!is_empty(resolver) && !is_p0(resolver, oldest(resolver))) {
        struct csp_held held = resolver->held.data[resolver->first++];
        apply(resolver, &held);
    }
    return resolver->held.len - resolver->first < CSP_RESOLVER_HELD_MAX;
}

static void hold_atoms(struct csp_resolver *resolver, const struct csp_packet *packet)
{
    if (!packet->atom_count)
        return;
    struct csp_held *held = hold(resolver, CSP_PACKET_ATOMS);
    held->atoms = packet->atoms;
    held->count = packet->atom_count;
    resolver->depth += packet->atom_count;
}

static void hold_address(struct csp_resolver *resolver, const struct csp_packet *packet)
{
    struct csp_held *held = hold(resolver, CSP_PACKET_ADDRESS);
    held->value = packet->address;
    held->isa = resolver->isa = packet->isa;
    if (resolver->address_pending)
        resolver->depth++;
    resolver->address_pending = false;
}

static void hold_context(struct csp_resolver *resolver, const struct csp_packet *packet)
{
    struct csp_held *held = hold(resolver, CSP_PACKET_CONTEXT);
    held->context = packet->context;
    held->isa = resolver->isa;
}

static void hold_q(struct csp_resolver *resolver, const struct csp_packet *packet)
{
    struct csp_held *held = hold(resolver, CSP_PACKET_Q);
    held->count = packet->count;
    held->flag = packet->has_address;
    held->value = packet->address;
    held->isa = packet->isa;
    if (packet->has_address)
        resolver->depth++;
    else
        resolver->address_pending = true;
}

static bool resolve(struct csp_resolver *resolver, const struct csp_packet *packet)
{
    switch (packet->type) {
    /* A unit that does not speculate has nothing to take back or to commit. */
    case CSP_PACKET_CANCEL:
        return resolver->depth_max && cancel(resolver, packet->cancel) &&
               (!packet->mispredict || mispredict(resolver));
    case CSP_PACKET_MISPREDICT:
        return resolver->depth_max && mispredict(resolver);
    case CSP_PACKET_COMMIT:
        return resolver->depth_max && commit(resolver, packet->commit);
    case CSP_PACKET_CYCLE_COUNT:
        return !resolver->depth_max || !packet->commit || commit(resolver, packet->commit);
    default:
        return true;
    }
}

static void hold_packet(struct csp_resolver *resolver, const struct csp_packet *packet,
                        uint64_t offset)
{
    struct csp_held *held;
    switch (packet->type) {
    case CSP_PACKET_ASYNC:
    case CSP_PACKET_IGNORE:
    case CSP_PACKET_COMMIT:
        break;
    case CSP_PACKET_CONDITIONAL:
    case CSP_PACKET_DATA_SYNC:
        resolver->skipped++;
        break;
    case CSP_PACKET_TRACE_ON:
        held = hold(resolver, packet->type);
        held->flag = resolver->synced;
        held->value = offset;
        break;
    case CSP_PACKET_ATOMS:
    case CSP_PACKET_CANCEL:
    case CSP_PACKET_MISPREDICT:
        hold_atoms(resolver, packet);
        break;
    case CSP_PACKET_ADDRESS_CONTEXT:
        resolver->isa = packet->isa;
        hold_context(resolver, packet);
        hold_address(resolver, packet);
        break;
    case CSP_PACKET_ADDRESS:
        hold_address(resolver, packet);
        break;
    case CSP_PACKET_CONTEXT:
        hold_context(resolver, packet);
        break;
    case CSP_PACKET_EXCEPTION:
        held = hold(resolver, packet->type);
        held->number = packet->number;
        held->flag = packet->is_branch_target;
        resolver->address_pending = true;
        break;
    case CSP_PACKET_RESET:
        hold(resolver, packet->type)->number = packet->number;
        resolver->depth++;
        break;
    case CSP_PACKET_Q:
        hold_q(resolver, packet);
        break;
    case CSP_PACKET_SOURCE_ADDRESS:
        held = hold(resolver, packet->type);
        held->value = packet->address;
        resolver->isa = packet->isa;
        resolver->depth++;
        break;
    case CSP_PACKET_TIMESTAMP:
        hold(resolver, packet->type)->value = packet->timestamp;
        break;
    case CSP_PACKET_TRANSACTION_START:
        hold(resolver, packet->type);
        resolver->depth += resolver->transaction_start_is_p0;
        break;
    default:
        hold(resolver, packet->type);
        break;
    }
}

bool csp_resolver_take(struct csp_resolver *resolver, const struct csp_packet *packet,
                       uint64_t offset)
{
    hold_packet(resolver, packet, offset);
    if (packet->type == CSP_PACKET_TRACE_INFO)
        resolver->synced = true;
    else if (!csp_packet_is_transparent((enum csp_packet_type)packet->type))
        resolver->synced = false;
    if (!resolve(resolver, packet))
        return false;
    if (resolver->depth > resolver->depth_max &&
        !commit(resolver, resolver->depth - resolver->depth_max))
        return false;
    return relieve(resolver);
}

bool csp_resolver_begin(struct csp_resolver *resolver, const struct csp_packet *info)
{
    csp_resolver_reset(resolver);
    if (info->count > resolver->depth_max)
        return false;
    resolver->synced = true;
    if (info->count) {
        hold(resolver, HELD_UNSEEN)->count = info->count;
        resolver->depth = info->count;
    }
    if (info->in_transaction)
        hold(resolver, CSP_PACKET_TRANSACTION_COMMIT);
    return true;
}

void csp_resolver_enter(struct csp_resolver *resolver, uint64_t offset,
                        const struct csp_window_start *start)
{
    apply_trace_on(resolver, true, offset);
    apply_context(resolver, &start->context, 0);
    csp_walker_jump(&resolver->walker, start->address, 0);
}

bool csp_resolver_take_exception(struct csp_resolver *resolver,
                                 const struct csp_window_exception *exception)
{
    resolver->synced = false;
    resolver->isa = exception->isa;
    if (exception->is_branch_target)
        resolver->walker.pop_pending = false; /* the target comes with the exception */
    if (!csp_walker_pop(&resolver->walker))
        return false;
    tell_exception(resolver, exception->number, exception->is_branch_target, exception->address,
                   exception->isa);
    return true;
}

void csp_resolver_discard(struct csp_resolver *resolver)
{
    for (; !is_empty(resolver); resolver->first++)
        apply_independent(resolver, oldest(resolver));
    csp_resolver_reset(resolver);
}

void csp_resolver_end(struct csp_resolver *resolver)
{
    for (; !is_empty(resolver); resolver->first++) {
        const struct csp_held *held = oldest(resolver);
        if (is_p0(resolver, held) || held->type == CSP_PACKET_TRACE_ON ||
            held->type == CSP_PACKET_EXCEPTION_RETURN)
            break;
        if (held->type == CSP_PACKET_TRANSACTION_COMMIT ||
            held->type == CSP_PACKET_TRANSACTION_FAIL)
            add(resolver, CSP_ELEMENT_OTHER);
        apply_independent(resolver, held);
    }
    csp_resolver_reset(resolver);
}
