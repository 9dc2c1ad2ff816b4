// The files of src/inspect/page, embedded.
#ifndef KILN_INSPECT_PAGE_PARTS_H_
#define KILN_INSPECT_PAGE_PARTS_H_

namespace kiln::inspect {

// The skeleton, with {{title}}, {{style}}, {{script}} and {{data}} where the rest goes.
extern const char kPageHtml[];
extern const char kPageCss[];
extern const char kPageJs[];

}  // namespace kiln::inspect

#endif  // KILN_INSPECT_PAGE_PARTS_H_
