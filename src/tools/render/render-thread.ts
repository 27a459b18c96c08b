import { Worker } from 'node:worker_threads';
import type { ResolveAddresses } from '../../net/fetch-guard.ts';
import type { RenderOrder } from '../page-renderer.ts';
import type { BrowserHomes } from './browser-homes.ts';
import { runsAsRoot } from './chromium-start.ts';
import type {
  FromRenderThread,
  PageVisit,
  RenderQuestion,
  RenderReply,
  ToRenderThread,
  VisitEnd,
} from './render-message.ts';

/**
 * The thread that drives the browser and carries its traffic: neither holds up what the main thread does. Begun at the
 * first page, ended with its browser after a while without any.
 */
export interface RenderThread {
  /** Never rejects, and resolves when all of the page is closed; `died`, when the thread is lost too. */
  visit(visit: Omit<PageVisit, 'id' | 'follow'>, asked: Pick<RenderOrder, 'mayFollow' | 'signal'>): Promise<VisitEnd>;
  close(): Promise<void>;
}

export interface RenderThreadOptions {
  homes: BrowserHomes;
  /** Asked by the thread for each of a page's requests. */
  resolve: ResolveAddresses;
  /** For the operator's log. */
  onTrouble(message: string): void;
  /** A thread that has not closed a page so long after nobody waits for it is ended with all it does. */
  leaveMaxMs?: number;
  /** Browser and thread take some 300 MB: unused so long, they are let go. */
  idleMs?: number;
}

const heapMbMax = 512;
const idleDefaultMs = 60_000;
/** A browser may take 30 s to start, a page 5 s to close. */
const leaveMaxDefaultMs = 45_000;
/** After `close`: a browser that does not end in 5 s is killed. */
const closeMaxMs = 8_000;

interface Running {
  worker: Worker;
  pages: Map<number, Page>;
  browserPid: number | null;
  state: 'runs' | 'ended';
  ended: Promise<void>;
}

interface Page extends Pick<RenderOrder, 'mayFollow'> {
  end(end: VisitEnd): void;
}

export function createRenderThread({
  homes,
  resolve,
  onTrouble,
  leaveMaxMs = leaveMaxDefaultMs,
  idleMs = idleDefaultMs,
}: RenderThreadOptions): RenderThread {
  let live: Running | null = null;
  let starting: Promise<Running> | null = null;
  /** All that have not ended, the live one too. */
  const threads = new Set<Running>();
  let idle: NodeJS.Timeout | null = null;
  let lastId = 0;
  let closed = false;
  let rootTold = false;

  async function begin(): Promise<Running> {
    if (runsAsRoot() && !rootTold) {
      rootTold = true;
      onTrouble('Chromium runs without its sandbox, because this server runs as root: run it as another user');
    }
    const home = await homes.fresh();
    const worker = new Worker(new URL('./render-worker.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: heapMbMax },
      workerData: { home },
    });
    const over = Promise.withResolvers<void>();
    const one: Running = { worker, pages: new Map(), browserPid: null, state: 'runs', ended: over.promise };
    threads.add(one);
    // It keeps no process alive: whoever waits for a page does.
    worker.unref();
    worker.on('message', (message: FromRenderThread) => void heard(one, message));
    worker.on('error', (error: Error) => onTrouble(`the thread of the browser broke: ${error.message}`));
    worker.on('exit', () => {
      one.state = 'ended';
      forget(one);
      // It ends with the thread by itself, unless it hangs.
      killGroup(one.browserPid);
      for (const page of [...one.pages.values()]) page.end('died');
      void homes.remove(home).then(() => {
        threads.delete(one);
        over.resolve();
      });
    });
    live = one;
    return one;
  }

  function begun(): Promise<Running> {
    starting ??= begin().finally(() => {
      starting = null;
    });
    return starting;
  }

  async function heard(one: Running, message: FromRenderThread): Promise<void> {
    switch (message.kind) {
      case 'visited':
        return one.pages.get(message.id)?.end(message.end);
      case 'browser':
        one.browserPid = message.pid;
        return;
      case 'trouble':
        return onTrouble(message.message);
      case 'ask':
        return tell(one, { kind: 'reply', to: message.ask, reply: await replyTo(one, message.question) });
    }
  }

  async function replyTo(one: Running, question: RenderQuestion): Promise<RenderReply> {
    if (question.kind === 'resolve') return resolve(question.hostname).catch(() => null);
    const mayFollow = one.pages.get(question.id)?.mayFollow ?? null;
    return mayFollow === null ? false : mayFollow(new URL(question.url)).catch(() => false);
  }

  /** The next page begins another. */
  function forget(one: Running): void {
    if (live === one) live = null;
  }

  function rest(): void {
    if (idle !== null) clearTimeout(idle);
    idle = setTimeout(() => void (live !== null && end(live)), idleMs);
    idle.unref();
  }

  async function end(one: Running): Promise<void> {
    forget(one);
    tell(one, { kind: 'close' });
    const late = setTimeout(() => void one.worker.terminate(), closeMaxMs);
    await one.ended;
    clearTimeout(late);
  }

  return {
    async visit(visit, { mayFollow, signal }) {
      if (idle !== null) clearTimeout(idle);
      if (closed) return 'died';
      let one: Running;
      try {
        one = live ?? (await begun());
      } catch (error) {
        onTrouble(`no folder can be made for the browser: ${error instanceof Error ? error.message : String(error)}`);
        return { ok: false, reason: 'unfit', message: 'no browser can be started here; the log says why' };
      }
      if (one.state === 'ended' || closed || signal.aborted) return 'died';
      const { worker, pages } = one;
      const id = ++lastId;
      return new Promise((settle) => {
        let late: NodeJS.Timeout | null = null;
        const leave = () => {
          tell(one, { kind: 'leave', id });
          late = setTimeout(() => void worker.terminate(), leaveMaxMs);
          late.unref();
        };
        pages.set(id, {
          mayFollow,
          end(ended) {
            pages.delete(id);
            signal.removeEventListener('abort', leave);
            if (late !== null) clearTimeout(late);
            if (pages.size === 0) {
              worker.unref();
              rest();
            }
            settle(ended);
          },
        });
        worker.ref();
        signal.addEventListener('abort', leave, { once: true });
        tell(one, { kind: 'visit', visit: { ...visit, id, follow: mayFollow === null ? 'anywhere' : 'as-allowed' } });
      });
    },
    async close() {
      closed = true;
      if (idle !== null) clearTimeout(idle);
      await starting?.catch(() => undefined);
      await Promise.all([...threads].map(end));
    },
  };
}

function tell({ worker }: Running, message: ToRenderThread): void {
  worker.postMessage(message);
}

/** Playwright gives the browser a process group of its own, which its pages are in. */
function killGroup(pid: number | null): void {
  if (pid === null) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has gone.
  }
}
