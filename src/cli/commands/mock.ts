import { isLoopback } from '../../config/loopback-host.ts';
import { whyNotListening } from '../../http/connections/listening.ts';
import { culvert } from '../../kernel/command-form.ts';
import { CommandFailed } from '../command-failed.ts';
import type { CliParts } from '../parts.ts';
import { note, print, printExact, printJson } from '../print.ts';
import { plain } from '../table.ts';
import { untilSignal } from '../until-signal.ts';

export interface MockFlags {
  host: string;
  port: number;
  name: string;
  faults?: boolean;
  json?: boolean;
}

/** `culvert mock`: the fault upstream, until a signal ends it. */
export async function mock(flags: MockFlags, parts: CliParts): Promise<number> {
  if (flags.faults) {
    printExact((await parts.mockHelp()).trimEnd());
    return 0;
  }
  const { host, port, name } = flags;
  const { url, close } = await parts
    .mock({
      host,
      port,
      name,
      onEnded({ method, path, aborted, bytesSent, ms }) {
        if (!flags.json)
          print(plain(`${method} ${path}  ${bytesSent} B in ${ms} ms${aborted ? '  (the caller left)' : ''}`));
      },
    })
    .catch((error: unknown) => {
      throw new CommandFailed(whyNotListening(error, host, port));
    });
  if (flags.json) printJson({ url });
  else printExact(introduction(url));
  if (!isLoopback(host)) {
    note(
      'warning: anyone who can reach this address can read at /_mock/requests what others sent, their keys included.',
    );
  }
  await untilSignal();
  await close();
  return 0;
}

function introduction(url: string): string {
  return `The mock listens on ${url}; its base URL for SDKs and culvert.yaml is ${url}/v1

Try it:
  curl ${url}/v1/chat/completions \\
    -H 'x-mock: status=503;retry-after=2' \\
    -H 'Content-Type: application/json' \\
    -d '{"model": "sim/chat", "messages": [{"role": "user", "content": "Hello"}]}'

All faults: ${culvert} mock --faults. What came in: curl ${url}/_mock/requests
`;
}
