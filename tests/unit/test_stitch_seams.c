/* Windows that reach across the seam between two AUX records where something may be missing, as
 * damaged recordings of the emulator had them, in nanoseconds since about then. */
#include "stitch_cases.h"

/* The first window's end and the second's beginning are missing, and the record that would have
 * told: they look like one. It did not begin when the second pause's own window did, but may have
 * begun as the first's; that it ended as the second's is only what a time says that may be read
 * from the middle of a packet. */
static void two_windows_that_look_like_one_are_none(void **state)
{
    (void)state;
    static const struct stream_case c = {
        .windows = {{.start_pc = 0x10,
                     .end_pc = 0xa0,
                     .first_time = 100,
                     .last_time = 210,
                     .unsure = true},
                    {.start_pc = 0x30,
                     .end_pc = 0xa0,
                     .first_time = 300,
                     .last_time = 310,
                     .unsure = true}},
        .window_len = 2,
        .pauses = {P(112, 0xb0), P(212, 0xa0), P(312, 0xa0)},
        .pause_len = 3,
        .resumes = {{99, 0x10}, {199, 0x20}, {299, 0x30}},
        .resume_len = 3,
        .expected = {{NONE, CSP_VERDICT_NONE, CSP_UNSTITCHED_UNTOLD},
                     {NONE, CSP_VERDICT_NONE, CSP_UNSTITCHED_UNTOLD},
                     {1, CSP_VERDICT_EXACT, CSP_UNSTITCHED_NOT}},
    };
    check(&c);
}

/* What the second record begins with was read as the rest of the fifth window, and so was the low
 * part of a later time: it seems to have ended before the two in front of it. They are what they
 * are; the second of them has a sample that skidded. */
static void a_time_from_the_middle_of_a_packet_bounds_no_other_window(void **state)
{
    (void)state;
    static const struct stream_case c = {
        .windows = {{.start_pc = 0x76e8, .end_pc = 0x7420, .last_time = 4852, .record_time = 9770},
                    {.start_pc = 0x7438, .end_pc = 0x7424, .last_time = 6142, .record_time = 9770},
                    {.start_pc = 0x7448, .end_pc = 0x72cc, .last_time = 7461, .record_time = 9770},
                    {.start_pc = 0x76d0, .end_pc = 0x742c, .last_time = 8755, .record_time = 9770},
                    {.start_pc = 0x7bc4,
                     .end_pc = 0x7828,
                     .last_time = 6854,
                     .record_time = 194892,
                     .begun_by = 9770,
                     .unsure = true}},
        .window_len = 5,
        .pauses = {P(4853, 0x7420), P(6143, 0x7424), P(7462, 0x72cc), P(8756, 0x743c),
                   P(10032, 0x7458), P(11361, 0x76e8), P(12651, 0x76e0)},
        .pause_len = 7,
        .resumes = {{4346, 0x76e8},
                    {5649, 0x7438},
                    {6947, 0x7448},
                    {8254, 0x76d0},
                    {9546, 0x7bc4},
                    {10853, 0x7448},
                    {12157, 0x7ba0}},
        .resume_len = 7,
        .expected = {{0, CSP_VERDICT_EXACT, CSP_UNSTITCHED_NOT},
                     {1, CSP_VERDICT_EXACT, CSP_UNSTITCHED_NOT},
                     {2, CSP_VERDICT_EXACT, CSP_UNSTITCHED_NOT},
                     {NONE, CSP_VERDICT_NONE, CSP_UNSTITCHED_PC},
                     {NONE, CSP_VERDICT_NONE, CSP_UNSTITCHED_UNTOLD},
                     {NONE, CSP_VERDICT_NONE, CSP_UNSTITCHED_NO_WINDOW},
                     {NONE, CSP_VERDICT_NONE, CSP_UNSTITCHED_NO_WINDOW}},
    };
    check(&c);
}

/* Such a time happens to be between the last resume and its pause, whose window was lost. */
static void a_time_from_the_middle_of_a_packet_tells_of_no_pause(void **state)
{
    (void)state;
    static const struct stream_case c = {
        .windows =
            {{.start_pc = 0x7c90, .end_pc = 0x7420, .last_time = 8778, .record_time = 11120},
             {.start_pc = 0x7434, .end_pc = 0x742c, .last_time = 10089, .record_time = 11120},
             {.start_pc = 0x76dc,
              .end_pc = 0x765c,
              .last_time = 16771,
              .record_time = 155695,
              .begun_by = 11120,
              .unsure = true}},
        .window_len = 3,
        .pauses = {P(8779, 0x7420), P(10090, 0x742c), P(11383, 0x76e0), P(12698, 0x7448),
                   P(13984, 0x744c), P(15285, 0x7454), P(16604, 0x7444), P(17912, 0x743c)},
        .pause_len = 8,
        .resumes = {{8287, 0x7c90},
                    {9584, 0x7434},
                    {10891, 0x76dc},
                    {12179, 0x742c},
                    {13497, 0x7450},
                    {14792, 0x7454},
                    {16103, 0x7498},
                    {17407, 0x745c}},
        .resume_len = 8,
        .tolerance = 200,
        .expected = {{0, CSP_VERDICT_EXACT, CSP_UNSTITCHED_NOT},
                     {1, CSP_VERDICT_EXACT, CSP_UNSTITCHED_NOT},
                     {NONE, CSP_VERDICT_NONE, CSP_UNSTITCHED_UNTOLD},
                     {NONE, CSP_VERDICT_NONE, CSP_UNSTITCHED_NO_WINDOW},
                     {NONE, CSP_VERDICT_NONE, CSP_UNSTITCHED_NO_WINDOW},
                     {NONE, CSP_VERDICT_NONE, CSP_UNSTITCHED_NO_WINDOW},
                     {NONE, CSP_VERDICT_NONE, CSP_UNSTITCHED_UNTOLD},
                     {NONE, CSP_VERDICT_NONE, CSP_UNSTITCHED_NO_WINDOW}},
    };
    check(&c);
}

/* The hole is at the very beginning of the second record: the fourth window, which had ended with
 * the first one, goes on as another that ended later. Its pause may have lost it to that. */
static const struct stream_case hole_at_a_seam = {
    .windows = {{.start_pc = 0xd98, .end_pc = 0xdd8, .last_time = 9307, .record_time = 13207},
                {.start_pc = 0xd94, .end_pc = 0xd90, .last_time = 10609, .record_time = 13207},
                {.start_pc = 0xdd8, .end_pc = 0xdcc, .last_time = 11898, .record_time = 13207},
                {.start_pc = 0xdc8,
                 .last_time = 17116,
                 .record_time = 30021,
                 .begun_by = 13207,
                 .cut = true,
                 .unsure = true},
                {.start_pc = 0xd94, .last_time = 18427, .record_time = 30021, .cut = true}},
    .window_len = 5,
    .pauses = {P(9507, 0xdd8), P(10809, 0xd90), P(12098, 0xdcc), P(13407, 0xdd0), P(14710, 0xdd8),
               P(16004, 0xda8), P(17316, 0xce0)},
    .pause_len = 7,
    .resumes = {{8996, 0xd98},
                {10310, 0xd94},
                {11598, 0xdd8},
                {12909, 0xdc8},
                {14218, 0xdcc},
                {15507, 0xd8c},
                {16818, 0xdd4}},
    .resume_len = 7,
    .expected = {{0, CSP_VERDICT_EXACT, CSP_UNSTITCHED_NOT},
                 {1, CSP_VERDICT_EXACT, CSP_UNSTITCHED_NOT},
                 {2, CSP_VERDICT_EXACT, CSP_UNSTITCHED_NOT},
                 {NONE, CSP_VERDICT_NONE, CSP_UNSTITCHED_UNTOLD},
                 {NONE, CSP_VERDICT_NONE, CSP_UNSTITCHED_NO_WINDOW},
                 {NONE, CSP_VERDICT_NONE, CSP_UNSTITCHED_NO_WINDOW},
                 {NONE, CSP_VERDICT_NONE, CSP_UNSTITCHED_UNTOLD}},
};

static void a_window_that_a_hole_joined_to_others_may_be_the_pauses_own(void **state)
{
    (void)state;
    check(&hole_at_a_seam);
}

/* The resume after it, at the same place, came when its beginning had been stored. */
static void a_beginning_that_was_stored_before_the_resume_is_another_ones(void **state)
{
    (void)state;
    struct stream_case c = hole_at_a_seam;
    c.resumes[4].pc = 0xdc8;
    check(&c);
}

/* It began as the second pause's own window did, and ends where and when that was taken. But
 * between its two records one may be missing that told of a hole: it may be whole, and may not be.
 */
static void a_window_that_fits_at_both_ends_may_be_whole(void **state)
{
    (void)state;
    static const struct stream_case c = {
        .windows =
            {{.start_pc = 0x24bc, .end_pc = 0x2d9c, .last_time = 56020, .record_time = 90000},
             {.start_pc = 0x24b8,
              .end_pc = 0x2dcc,
              .last_time = 57329,
              .record_time = 190000,
              .begun_by = 90000,
              .unsure = true}},
        .window_len = 2,
        .pauses = {P(56021, 0x2d9c), P(57330, 0x2dcc)},
        .pause_len = 2,
        .resumes = {{55524, 0x24bc}, {56833, 0x24b8}},
        .resume_len = 2,
        .tolerance = 200,
        .expected = {{0, CSP_VERDICT_EXACT, CSP_UNSTITCHED_NOT},
                     {NONE, CSP_VERDICT_NONE, CSP_UNSTITCHED_UNTOLD}},
    };
    check(&c);
}

/* Nor does a thread that is read from the middle of a packet say that a window is not a pause's. */
static void a_context_from_the_middle_of_a_packet_excludes_no_pause(void **state)
{
    (void)state;
    static const struct stream_case c = {
        .windows = {{.start_pc = 0xdc8,
                     .end_pc = 0xccc,
                     .context = 0x32f7,
                     .last_time = 78923,
                     .record_time = 80028},
                    {.start_pc = 0xd90,
                     .context = 0xf3008080,
                     .last_time = 85510,
                     .record_time = 476851,
                     .begun_by = 80028,
                     .unsure = true}},
        .window_len = 2,
        .pauses = {{.time = 78924, .pc = 0xccc, .context = 0x32f7},
                   {.time = 80228, .pc = 0xd9c, .context = 0x32f7},
                   {.time = 81517, .pc = 0xd8c, .context = 0x32f7}},
        .pause_len = 3,
        .resumes = {{78429, 0xdc8}, {79720, 0xd90}, {81020, 0xdc8}},
        .resume_len = 3,
        .tolerance = 200,
        .expected = {{0, CSP_VERDICT_EXACT, CSP_UNSTITCHED_NOT},
                     {NONE, CSP_VERDICT_NONE, CSP_UNSTITCHED_UNTOLD},
                     {NONE, CSP_VERDICT_NONE, CSP_UNSTITCHED_NO_WINDOW}},
    };
    check(&c);
}

/* The resume that opened the third window was lost, so where its pause's own window began is not
 * known; it was open when the first record was written. Of the next pause neither is true. */
static void a_lost_resume_may_have_opened_what_may_be_two_windows(void **state)
{
    (void)state;
    static const struct stream_case c = {
        .windows = {{.start_pc = 0xdd8, .end_pc = 0xd98, .last_time = 3831, .record_time = 9800},
                    {.start_pc = 0xdcc, .end_pc = 0xdd8, .last_time = 6262, .record_time = 9800},
                    {.start_pc = 0xd8c,
                     .last_time = 15038,
                     .record_time = 84522,
                     .begun_by = 9800,
                     .unsure = true}},
        .window_len = 3,
        .pauses = {P(4031, 0xd98), P(6462, 0xdd8), P(10000, 0xdd0), P(11119, 0xdc4)},
        .pause_len = 4,
        .resumes = {{3000, 0xdd8}, {5800, 0xdcc}},
        .resume_len = 2,
        .losses = {9799},
        .loss_len = 1,
        .tolerance = 200,
        .expected = {{0, CSP_VERDICT_EXACT, CSP_UNSTITCHED_NOT},
                     {1, CSP_VERDICT_EXACT, CSP_UNSTITCHED_NOT},
                     {NONE, CSP_VERDICT_NONE, CSP_UNSTITCHED_UNTOLD},
                     {NONE, CSP_VERDICT_NONE, CSP_UNSTITCHED_NO_WINDOW}},
    };
    check(&c);
}

/* The last window's beginning is all that its record has: it ended in trace that was lost, and the
 * record that would have told was lost, too. It is not the first sample's, which skidded, though it
 * fits in time, and what is there of it is not the next one's history. */
static void a_window_that_ends_with_neither_time_nor_exception_may_be_cut(void **state)
{
    (void)state;
    static const struct stream_case c = {
        .windows = {{.start_pc = 0xd94, .end_pc = 0xdc8, .last_time = 1111, .record_time = 11500},
                    {.start_pc = 0xdd4, .end_pc = 0xdd8, .last_time = 2404, .record_time = 11500},
                    {.start_pc = 0xdc8, .end_pc = 0xd90, .last_time = 3707, .record_time = 11500},
                    {.start_pc = 0xdcc, .end_pc = 0xdd0, .last_time = 5016, .record_time = 11500},
                    {.start_pc = 0xd8c, .end_pc = 0xd98, .last_time = 6303, .record_time = 11500},
                    {.start_pc = 0xdc4, .end_pc = 0xd98, .last_time = 7599, .record_time = 11500},
                    {.start_pc = 0xdcc, .end_pc = 0xdc8, .last_time = 8885, .record_time = 11500},
                    {.start_pc = 0xd94, .end_pc = 0xd9c, .last_time = 10199, .record_time = 11500},
                    {.start_pc = 0xddc, .record_time = 11500}},
        .window_len = 9,
        .pauses = {P(1112, 0xdc8), P(2405, 0xdd8), P(3708, 0xd90), P(5017, 0xdd0), P(6304, 0xd98),
                   P(7600, 0xd98), P(8886, 0xdc8), P(10200, 0xda0), P(11492, 0xdcc)},
        .pause_len = 9,
        .resumes = {{610, 0xd94},
                    {1903, 0xdd4},
                    {3205, 0xdc8},
                    {4514, 0xdcc},
                    {5801, 0xd8c},
                    {7083, 0xdc4},
                    {8391, 0xdcc},
                    {9698, 0xd94},
                    {11000, 0xddc}},
        .resume_len = 9,
        .tolerance = 200,
        .expected = {{0, CSP_VERDICT_EXACT, CSP_UNSTITCHED_NOT},
                     {1, CSP_VERDICT_EXACT, CSP_UNSTITCHED_NOT},
                     {2, CSP_VERDICT_EXACT, CSP_UNSTITCHED_NOT},
                     {3, CSP_VERDICT_EXACT, CSP_UNSTITCHED_NOT},
                     {4, CSP_VERDICT_EXACT, CSP_UNSTITCHED_NOT},
                     {5, CSP_VERDICT_EXACT, CSP_UNSTITCHED_NOT},
                     {6, CSP_VERDICT_EXACT, CSP_UNSTITCHED_NOT},
                     {NONE, CSP_VERDICT_NONE, CSP_UNSTITCHED_PC},
                     {NONE, CSP_VERDICT_NONE, CSP_UNSTITCHED_UNTOLD}},
    };
    check(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_windows_that_look_like_one_are_none),
        cmocka_unit_test(a_time_from_the_middle_of_a_packet_bounds_no_other_window),
        cmocka_unit_test(a_time_from_the_middle_of_a_packet_tells_of_no_pause),
        cmocka_unit_test(a_window_that_a_hole_joined_to_others_may_be_the_pauses_own),
        cmocka_unit_test(a_beginning_that_was_stored_before_the_resume_is_another_ones),
        cmocka_unit_test(a_window_that_fits_at_both_ends_may_be_whole),
        cmocka_unit_test(a_context_from_the_middle_of_a_packet_excludes_no_pause),
        cmocka_unit_test(a_lost_resume_may_have_opened_what_may_be_two_windows),
        cmocka_unit_test(a_window_that_ends_with_neither_time_nor_exception_may_be_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
