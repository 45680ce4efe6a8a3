/* What merging cannot do without: reads aggregates' files and decompresses and checks their blocks.
 * read_aggregates FILE... prints how many bytes there were. */
#include "base/file.h"
#include "profgen/blocks.h"

#include <stdio.h>
#include <stdlib.h>

enum { HEADER = 16 };

int main(int argc, char **argv)
{
    unsigned long long stored = 0, contents = 0;
    struct csp_block_reader reader = {0};
    for (int i = 1; i < argc; i++) {
        struct csp_file file;
        if (csp_file_map(&file, argv[i], NULL))
            return fprintf(stderr, "%s cannot be read\n", argv[i]), 1;
        csp_block_reader_begin(&reader, file.data, file.size, argv[i], HEADER);
        while (!reader.ended) {
            if (csp_block_next(&reader, NULL))
                return fprintf(stderr, "%s is damaged\n", argv[i]), 1;
            contents += csp_cursor_left(&reader.cursor);
            reader.cursor.at = reader.cursor.end;
        }
        stored += file.size;
        csp_file_unmap(&file);
    }
    csp_block_reader_free(&reader);
    printf("%llu bytes, %llu decompressed\n", stored, contents);
    return 0;
}
