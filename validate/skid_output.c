#include "base/counted.h"
#include "validate/skid.h"

#include <string.h>

/* How far a share of the samples may be from the share of the time and still be called right. */
static const double tolerance = 0.1;

static double sample_share(const struct csp_skid *skid, const struct csp_skid_place *place)
{
    return skid->samples ? (double)place->samples / (double)skid->samples : 0;
}

static double record_share(const struct csp_skid *skid, const struct csp_skid_place *place)
{
    return skid->records ? (double)place->records / (double)skid->records : 0;
}

static double largest_error(const struct csp_skid *skid)
{
    double largest = 0;
    for (size_t i = 0; i < skid->places.len; i++) {
        const struct csp_skid_place *place = &skid->places.data[i];
        double error = sample_share(skid, place) - place->time;
        error = error < 0 ? -error : error;
        largest = error > largest ? error : largest;
    }
    return largest;
}

static void text_table(const struct csp_skid *skid, struct csp_buf *out)
{
    csp_buf_printf(out, "\n     time  samples%s\n", skid->records ? "      SPE" : "");
    for (size_t i = 0; i < skid->places.len; i++) {
        const struct csp_skid_place *place = &skid->places.data[i];
        csp_buf_printf(out, "%8.2f%% %7.2f%%", 100 * place->time, 100 * sample_share(skid, place));
        if (skid->records)
            csp_buf_printf(out, " %7.2f%%", 100 * record_share(skid, place));
        csp_buf_printf(out, "  %s\n", place->what);
    }
    csp_buf_printf(out, "%s; %s %s taken outside of these places\n\n",
                   CSP_COUNTED(skid->samples, "sample"), CSP_COUNTED(skid->elsewhere, "other"),
                   csp_by_count(skid->elsewhere, "was", "were"));
}

/* What went wrong, and why it always does. */
static void text_bias(const struct csp_skid *skid, struct csp_buf *out)
{
    const struct csp_skid_place *slow = csp_skid_slowest(skid),
                                *blamed = csp_skid_most_sampled(skid);
    csp_buf_printf(out,
                   "The samples blame the wrong instruction. `%s` takes %.1f%% of the time and got "
                   "%.1f%% of\nthe samples; `%s` takes %.1f%% of the time and got %.1f%%.\n\n",
                   slow->what, 100 * slow->time, 100 * sample_share(skid, slow), blamed->what,
                   100 * blamed->time, 100 * sample_share(skid, blamed));
    csp_buf_add_string(
        out,
        "Why: a profiler stops the program by an interrupt and writes down which instruction "
        "comes\n"
        "next. While the program waits for a slow instruction, the core cannot be stopped in the\n"
        "middle of it: it finishes that one, and stops at one that follows. So the sample shows a\n"
        "neighbour of what was slow. This happens every time: more samples do not help.\n\n"
        "What to do: read such profiles by loop or function, where the neighbours add up, and not "
        "by\n"
        "instruction. Where it matters which instruction is slow, use one that the core samples\n"
        "itself (SPE on Arm: `csprof validate --spe`). Branch histories, of which `csprof gen` "
        "makes\n"
        "profiles, are counts of what ran and not of time: they are not concerned.\n");
}

static void text_fair(const struct csp_skid *skid, struct csp_buf *out)
{
    csp_buf_printf(out, "The samples are where the time went, within %.1f%% of all: %s.\n",
                   100 * largest_error(skid),
                   skid->instructions
                       ? "here the interrupts of this machine do not mislead by more"
                       : "a function's samples add up, whichever of its instructions they show");
}

void csp_skid_text(const struct csp_skid *skid, struct csp_buf *out)
{
    csp_buf_printf(out, "%s\n", skid->about);
    text_table(skid, out);
    if (largest_error(skid) > tolerance)
        text_bias(skid, out);
    else
        text_fair(skid, out);
    if (skid->records)
        csp_buf_add_string(out,
                           "\nSPE samples operations, an interrupt samples time: of a loop's "
                           "instructions each gets the same\nnumber of SPE's records, whatever "
                           "it costs. What each costs is in their latencies.\n");
}

static void add_escaped(struct csp_buf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '<')
            csp_buf_add_string(out, "&lt;");
        else if (*text == '&')
            csp_buf_add_string(out, "&amp;");
        else
            csp_buf_add_char(out, *text);
    }
}

enum { WIDTH = 720, LEFT = 220, BAR = 420, ROW = 62, TOP = 64 };

static void svg_bar(struct csp_buf *out, int y, double share, const char *colour)
{
    csp_buf_printf(out,
                   "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"16\" fill=\"%s\"/>\n"
                   "<text x=\"%.1f\" y=\"%d\">%.1f %%</text>\n",
                   LEFT, y, BAR * share + 0.5, colour, LEFT + BAR * share + 6, y + 13, 100 * share);
}

void csp_skid_svg(const struct csp_skid *skid, struct csp_buf *out)
{
    int height = TOP + ROW * (int)skid->places.len + 16;
    csp_buf_printf(out,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                   "font-family=\"sans-serif\" font-size=\"12\">\n"
                   "<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n",
                   WIDTH, height, WIDTH, height);
    csp_buf_printf(out,
                   "<text x=\"16\" y=\"24\" font-size=\"15\">Where the time goes, and where %llu "
                   "samples landed</text>\n",
                   (unsigned long long)skid->samples);
    csp_buf_printf(out,
                   "<rect x=\"%d\" y=\"36\" width=\"12\" height=\"12\" fill=\"#4f8a3c\"/>"
                   "<text x=\"%d\" y=\"46\">time, measured by a clock</text>\n"
                   "<rect x=\"%d\" y=\"36\" width=\"12\" height=\"12\" fill=\"#c0504d\"/>"
                   "<text x=\"%d\" y=\"46\">samples</text>\n",
                   LEFT, LEFT + 18, LEFT + 190, LEFT + 208);
    for (size_t i = 0; i < skid->places.len; i++) {
        const struct csp_skid_place *place = &skid->places.data[i];
        int y = TOP + ROW * (int)i;
        csp_buf_printf(out, "<text x=\"16\" y=\"%d\" font-family=\"monospace\">", y + 23);
        add_escaped(out, place->what);
        csp_buf_add_string(out, "</text>\n");
        svg_bar(out, y, place->time, "#4f8a3c");
        svg_bar(out, y + 20, sample_share(skid, place), "#c0504d");
    }
    csp_buf_add_string(out, "</svg>\n");
}

void csp_skid_json(const struct csp_skid *skid, struct csp_json *json)
{
    csp_json_string(json, "about", skid->about);
    csp_json_number(json, "samples", skid->samples);
    csp_json_number(json, "elsewhere", skid->elsewhere);
    csp_json_number(json, "spe_records", skid->records);
    csp_json_bool(json, "biased", largest_error(skid) > tolerance);
    csp_json_real(json, "largest_error", largest_error(skid));
    csp_json_array(json, "places");
    for (size_t i = 0; i < skid->places.len; i++) {
        const struct csp_skid_place *place = &skid->places.data[i];
        csp_json_object(json, NULL);
        csp_json_string(json, "what", place->what);
        csp_json_number(json, "start", place->start);
        csp_json_real(json, "time", place->time);
        csp_json_number(json, "samples", place->samples);
        csp_json_real(json, "sample_share", sample_share(skid, place));
        csp_json_number(json, "spe_records", place->records);
        csp_json_end(json);
    }
    csp_json_end(json);
}
