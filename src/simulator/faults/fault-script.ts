import { type FaultSpec, parseFaultSpec } from './fault-spec.ts';

/**
 * Queues of fault specs, one spec consumed per request. A queue's name is a path (`/v1/chat/completions`), a path and
 * a credential (`/v1/chat/completions sk-a`), or `*`; the most exact one that is not empty is used. An entry may begin
 * with a count (`3x status=503`) or `always ` (it is never consumed). Lists of models, which gateways look at whenever they
 * like, consume nothing of `*`.
 */
export type Script = ReturnType<typeof createScript>;

interface Entry {
  spec: FaultSpec;
  left: number;
}

const scriptQueuesMax = 1_000;
const scriptEntriesMax = 10_000;

export function createScript() {
  const queues = new Map<string, Entry[]>();

  function first(name: string): FaultSpec | null {
    const queue = queues.get(name);
    const entry = queue?.[0];
    if (queue === undefined || entry === undefined) return null;
    entry.left -= 1;
    if (entry.left <= 0) queue.shift();
    if (queue.length === 0) queues.delete(name);
    return entry.spec;
  }

  return {
    /** Replaces the named queues. Returns the fault of the first bad entry without changing anything, or null. */
    set(given: Readonly<Record<string, readonly string[]>>): string | null {
      const read = new Map<string, Entry[]>();
      for (const [name, sources] of Object.entries(given)) {
        if (sources.length > scriptEntriesMax) return `Queue '${name}' has more than ${scriptEntriesMax} entries.`;
        const entries: Entry[] = [];
        for (const source of sources) {
          const entry = readEntry(source);
          if (typeof entry === 'string') return `Queue '${name}', entry '${source}': ${entry}`;
          entries.push(entry);
        }
        read.set(name, entries);
      }
      if (queues.size + read.size > scriptQueuesMax) return `A script has at most ${scriptQueuesMax} queues.`;
      for (const [name, entries] of read) {
        if (entries.length > 0) queues.set(name, entries);
        else queues.delete(name);
      }
      return null;
    },
    /** The spec for this request; null when no queue has one. */
    take(path: string, credential: string): FaultSpec | null {
      if (queues.size === 0) return null;
      const named = first(`${path} ${credential}`) ?? first(path);
      if (named !== null) return named;
      // Gateways look at lists of models whenever they like: those take no step that a request is to get.
      const isCounted = Number.isFinite(queues.get('*')?.[0]?.left);
      return isCounted && path.endsWith('/models') ? null : first('*');
    },
    clear(): void {
      queues.clear();
    },
  };
}

function readEntry(source: string): Entry | string {
  const times = /^(?:(\d{1,9})x|(always))\s+(.*)$/s.exec(source);
  const parsed = parseFaultSpec(times?.[3] ?? source);
  if (!parsed.ok) return parsed.message;
  const left = times === null ? 1 : times[2] === 'always' ? Number.POSITIVE_INFINITY : Number(times[1]);
  return left < 1 ? 'The count must be at least 1.' : { spec: parsed.spec, left };
}
