import type { RecordedRequest } from '../src/simulator/recording.ts';
import type { SimulatorOptions } from '../src/simulator/simulator.ts';
import { createSimulator } from '../src/simulator/simulator.ts';
import { otherFormats } from './upstream-formats/other-formats.ts';

/** A mock upstream in this process, on a free loopback port. It speaks every format that we ask upstreams in. */
export interface Upstream {
  /** Such as `http://127.0.0.1:41999`; base URLs add `/v1`. */
  url: string;
  /** The next requests to `path` (`/v1/chat/completions`, `<path> <key>` or `*`) get these specs, one each. */
  script(path: string, specs: readonly string[]): void;
  /** Requests, oldest first. */
  requests(): RecordedRequest[];
  /** The first request that matches, once its body is there or once it has ended: no test needs to poll or sleep. */
  when(matches: (request: RecordedRequest) => boolean): Promise<RecordedRequest>;
  /** Forgets scripts and requests. */
  clear(): void;
  close(): Promise<void>;
}

/** `port`: a free one otherwise. */
export async function startUpstream({
  port = 0,
  ...options
}: SimulatorOptions & { port?: number } = {}): Promise<Upstream> {
  const simulator = createSimulator({ otherFormats, ...options });
  const { url } = await simulator.listen({ host: '127.0.0.1', port });
  return {
    url,
    script: (path, specs) => simulator.script({ [path]: specs }),
    requests: () => simulator.requests(),
    when: (matches) => simulator.when(matches),
    clear: () => simulator.clear(),
    close: () => simulator.close(),
  };
}
