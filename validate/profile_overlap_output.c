#include "validate/profile_overlap.h"

static void text_differences(const csp_differences *list, const char *kind, struct csp_buf *out)
{
    if (list->len)
        csp_buf_printf(out, "\n%s with the largest differences\n       A        B\n", kind);
    for (size_t i = 0; i < list->len; i++)
        csp_buf_printf(out, "%7.3f%% %7.3f%%  %s\n", 100 * list->data[i].a, 100 * list->data[i].b,
                       list->data[i].name);
}

static void text_alone(const char *what, const struct csp_one_sided *alone, const char *whose,
                       struct csp_buf *out)
{
    csp_buf_printf(out, "%-22s %llu, %.3f%% of the counts of %s\n", what,
                   (unsigned long long)alone->number, 100 * alone->share, whose);
}

void csp_profile_overlap_text(const struct csp_profile_overlap *overlap, struct csp_buf *out)
{
    csp_buf_printf(out, "overlap by functions   %.3f%%%s\n", 100 * overlap->function,
                   overlap->entries ? " (of how often each was entered)" : "");
    if (!overlap->entries)
        csp_buf_printf(out, "overlap by blocks      %.3f%% (within functions: %.3f%%)\n",
                       100 * overlap->block, 100 * overlap->block_in_functions);
    if (!overlap->no_contexts)
        csp_buf_printf(out, "overlap by contexts    %.3f%%\n", 100 * overlap->context);
    text_alone("missing functions", &overlap->missing_functions, "B", out);
    text_alone("spurious functions", &overlap->spurious_functions, "A", out);
    if (!overlap->no_contexts) {
        text_alone("missing contexts", &overlap->missing_contexts, "B", out);
        text_alone("spurious contexts", &overlap->spurious_contexts, "A", out);
    }
    if (overlap->changed_functions.number)
        text_alone("changed functions", &overlap->changed_functions,
                   "A: their blocks are not the same", out);
    text_differences(&overlap->functions, "functions", out);
    if (!overlap->entries)
        text_differences(&overlap->blocks, "blocks", out);
    if (!overlap->no_contexts)
        text_differences(&overlap->contexts, "contexts", out);
}

static void json_alone(const char *key, const struct csp_one_sided *alone, struct csp_json *json)
{
    csp_json_object(json, key);
    csp_json_number(json, "number", alone->number);
    csp_json_real(json, "share", alone->share);
    csp_json_end(json);
}

static void json_differences(const char *key, const csp_differences *list, struct csp_json *json)
{
    csp_json_array(json, key);
    for (size_t i = 0; i < list->len; i++) {
        csp_json_object(json, NULL);
        csp_json_string(json, "name", list->data[i].name);
        csp_json_real(json, "a", list->data[i].a);
        csp_json_real(json, "b", list->data[i].b);
        csp_json_end(json);
    }
    csp_json_end(json);
}

void csp_profile_overlap_json(const struct csp_profile_overlap *overlap, struct csp_json *json)
{
    csp_json_real(json, "function_overlap", overlap->function);
    if (!overlap->entries) {
        csp_json_real(json, "block_overlap", overlap->block);
        csp_json_real(json, "block_overlap_in_functions", overlap->block_in_functions);
    }
    if (!overlap->no_contexts)
        csp_json_real(json, "context_overlap", overlap->context);
    json_alone("missing_functions", &overlap->missing_functions, json);
    json_alone("spurious_functions", &overlap->spurious_functions, json);
    if (!overlap->no_contexts) {
        json_alone("missing_contexts", &overlap->missing_contexts, json);
        json_alone("spurious_contexts", &overlap->spurious_contexts, json);
    }
    json_alone("changed_functions", &overlap->changed_functions, json);
    json_differences("functions", &overlap->functions, json);
    if (!overlap->entries)
        json_differences("blocks", &overlap->blocks, json);
    if (!overlap->no_contexts)
        json_differences("contexts", &overlap->contexts, json);
}
