/* What the library cannot do, in words and as an exit status. */
#include "failure.h"

#include "cli.h"
#include "signals.h"
#include "terminal.h"

int cli_failed(const nvtxa_error *error, const char *advice) {
  if (cli_interrupted) { /* whatever failed then, that is why */
    cli_complain(NULL, NULL, "interrupted");
    return CLI_INTERRUPTED;
  }
  if (error == NULL) {
    cli_complain(NULL, NULL, "out of memory");
  } else {
    cli_print_error(error, advice);
  }
  return CLI_FAILED;
}
