/* What binary_check.c found, in words. */
#include "collect/binary_check.h"

static void add_frames(const struct csp_frame_use *frames, struct csp_buf *out)
{
    if (!frames->functions)
        csp_buf_add_string(out, "frame pointers: no symbols to tell");
    else
        csp_buf_printf(out, "frame pointers in %u of the %u functions that call others",
                       frames->with_frames, frames->callers);
}

static void add_finding(struct csp_buf *out, bool good, const char *name, const char *text,
                        const char *fix)
{
    csp_buf_printf(out, "  %-4s%-*s%s\n", good ? "yes" : "no", *text ? 16 : 0, name, text);
    if (!good)
        csp_buf_printf(out, "%22sfix: %s\n", "", fix);
}

static void add_frame_findings(const struct csp_binary_check *check, struct csp_buf *out)
{
    struct csp_buf text = {0};
    add_frames(&check->frames, &text);
    add_finding(out, check->frames.functions && csp_frame_use_good(&check->frames), "frames",
                text.data,
                check->frames.functions
                    ? "compile with -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer"
                    : "do not strip it (or examine the unstripped file)");
    csp_buf_free(&text);
}

static void add_libraries(const struct csp_binary_check *check, struct csp_buf *out)
{
    for (size_t i = 0; i < check->libraries.len; i++) {
        const struct csp_library_check *library = &check->libraries.data[i];
        csp_buf_printf(out, "%s  %s: ", i ? "" : "\nLibraries it uses\n", library->name);
        if (!library->path)
            csp_buf_add_string(out, "not found here");
        else
            add_frames(&library->frames, out);
        csp_buf_add_string(out, library->path && !csp_frame_use_good(&library->frames)
                                    ? ": callchains through it break off\n"
                                    : "\n");
    }
}

void csp_binary_check_text(const struct csp_binary_check *check, struct csp_buf *out)
{
    char id[41];
    csp_build_id_text(&check->build_id, id);
    csp_buf_printf(out, "\nProgram %s\n", check->path);
    add_finding(out, check->build_id.size, "build-id", id, "link with -Wl,--build-id");
    add_finding(out, check->probes && check->probe_names, "probes",
                check->probes ? "pseudo probes, which survive optimisation" : "",
                "compile with -fpseudo-probe-for-profiling (and do not strip .pseudo_probe_desc)");
    add_finding(out, check->lines, "lines", check->lines ? "debug line information" : "",
                "compile with -gmlt -fdebug-info-for-profiling");
    add_finding(out, check->discriminators, "discriminators",
                check->discriminators ? "" : "(only profiles without probes need them)",
                "compile with -fdebug-info-for-profiling");
    add_frame_findings(check, out);
    add_libraries(check, out);
    csp_buf_add_string(
        out, check->complete ? "\nThe program has all that a profile needs.\n"
                             : "\nThe program lacks something that a profile needs: see above.\n");
}

static void frames_json(const struct csp_frame_use *frames, struct csp_json *json)
{
    csp_json_number(json, "functions", frames->functions);
    csp_json_number(json, "callers", frames->callers);
    csp_json_number(json, "with_frames", frames->with_frames);
}

void csp_binary_check_json(const struct csp_binary_check *check, struct csp_json *json)
{
    char id[41];
    csp_build_id_text(&check->build_id, id);
    csp_json_object(json, "binary");
    csp_json_string(json, "path", check->path);
    csp_json_string(json, "build_id", id);
    csp_json_bool(json, "probes", check->probes && check->probe_names);
    csp_json_bool(json, "lines", check->lines);
    csp_json_bool(json, "discriminators", check->discriminators);
    frames_json(&check->frames, json);
    csp_json_array(json, "libraries");
    for (size_t i = 0; i < check->libraries.len; i++) {
        csp_json_object(json, NULL);
        csp_json_string(json, "name", check->libraries.data[i].name);
        csp_json_string(json, "path", check->libraries.data[i].path);
        frames_json(&check->libraries.data[i].frames, json);
        csp_json_end(json);
    }
    csp_json_end(json);
    csp_json_bool(json, "complete", check->complete);
    csp_json_end(json);
}
