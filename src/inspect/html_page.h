// One page for browsers per compilation: summary, graph, before and after, memory, code. It needs no network.
#ifndef KILN_INSPECT_HTML_PAGE_H_
#define KILN_INSPECT_HTML_PAGE_H_

#include <string>

#include "src/cpu/executable.h"
#include "src/inspect/recorder.h"

namespace kiln::inspect {

// `recorder` has watched the compilation of `executable`, which has its program. What cannot be made (the assembly,
// say) is left out, with the reason in its place.
std::string HtmlPage(const Recorder& recorder, const cpu::Executable& executable);

}  // namespace kiln::inspect

#endif  // KILN_INSPECT_HTML_PAGE_H_
