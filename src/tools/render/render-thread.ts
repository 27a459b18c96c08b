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
  /** Never rejects, and resolves when all of the page is closed; `died`, when the thread is lost, too. */
  visit(visit: Omit<PageVisit, 'id' | 'follow'>, order: Pick<RenderOrder, 'mayFollow' | 'signal'>): Promise<VisitEnd>;
  close(): Promise<void>;
}

export interface RenderThreadOptions {
  homes: BrowserHomes;
  /** Asked by the thread for each of a page's requests. */
  resolve: ResolveAddresses;
  /** For the operator's log. */
  onTrouble(message: string): void;
  /** A thread that has not closed an abandoned page after this long is ended with all its work. */
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
  let live: BrowserThread | null = null;
  let starting: Promise<BrowserThread> | null = null;
  /** All that have not ended, the live one too. */
  const threads = new Set<BrowserThread>();
  const idle = new IdleTimer(idleMs, () => void (live !== null && end(live)));
  const reportRoot = reportsRoot(onTrouble);
  let closed = false;

  async function begin(): Promise<BrowserThread> {
    reportRoot();
    const home = await homes.fresh();
    const one = new BrowserThread(home, {
      resolve,
      onTrouble,
      leaveMaxMs,
      onIdle: () => idle.begin(),
      onExit: () => forget(one),
      removeHome: () => homes.remove(home),
    });
    threads.add(one);
    void one.ended.then(() => threads.delete(one));
    live = one;
    return one;
  }

  function begun(): Promise<BrowserThread> {
    starting ??= begin().finally(() => {
      starting = null;
    });
    return starting;
  }

  /** The next page begins another. */
  function forget(one: BrowserThread): void {
    if (live === one) live = null;
  }

  function end(one: BrowserThread): Promise<void> {
    forget(one);
    return one.end();
  }

  return {
    async visit(visit, follow) {
      idle.stop();
      if (closed) return 'died';
      let one: BrowserThread;
      try {
        one = live ?? (await begun());
      } catch (error) {
        onTrouble(`no folder can be made for the browser: ${error instanceof Error ? error.message : String(error)}`);
        return { ok: false, reason: 'unfit', message: 'no browser can be started here; the log says why' };
      }
      return closed ? 'died' : one.visit(visit, follow);
    },
    async close() {
      closed = true;
      idle.stop();
      await starting?.catch(() => undefined);
      await Promise.all([...threads].map(end));
    },
  };
}

/** Calls `onIdle` once nothing has happened for so long. */
class IdleTimer {
  readonly #idleMs: number;
  readonly #onIdle: () => void;
  #timer: NodeJS.Timeout | null = null;

  constructor(idleMs: number, onIdle: () => void) {
    this.#idleMs = idleMs;
    this.#onIdle = onIdle;
  }

  begin(): void {
    this.stop();
    this.#timer = setTimeout(this.#onIdle, this.#idleMs);
    this.#timer.unref();
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
  }
}

/** Reports once that Chromium runs without its sandbox, where it does. */
function reportsRoot(onTrouble: (message: string) => void): () => void {
  let isReported = false;
  return () => {
    if (isReported || !runsAsRoot()) return;
    isReported = true;
    onTrouble('Chromium runs without its sandbox, because this server runs as root: run it as another user');
  };
}

interface BrowserThreadParts extends Pick<RenderThreadOptions, 'resolve' | 'onTrouble'> {
  leaveMaxMs: number;
  /** It has no page any more. */
  onIdle(): void;
  onExit(): void;
  removeHome(): Promise<void>;
}

/** One thread with its browser, from its start to its end. */
class BrowserThread {
  /** Resolves when it is gone, and its home with it. */
  readonly ended: Promise<void>;
  readonly #parts: BrowserThreadParts;
  readonly #worker: Worker;
  readonly #pages = new Map<number, Page>();
  #browserPid: number | null = null;
  #runs = true;
  #lastId = 0;

  constructor(home: string, parts: BrowserThreadParts) {
    this.#parts = parts;
    const worker = new Worker(new URL('./render-worker.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: heapMbMax },
      workerData: { home },
    });
    this.#worker = worker;
    const over = Promise.withResolvers<void>();
    this.ended = over.promise;
    // It keeps no process alive: the caller that waits for a page does.
    worker.unref();
    worker.on('message', (message: FromRenderThread) => void this.#receive(message));
    worker.on('error', (error: Error) => parts.onTrouble(`the thread of the browser broke: ${error.message}`));
    worker.on('exit', () => {
      this.#runs = false;
      parts.onExit();
      // It ends with the thread, unless it hangs.
      killGroup(this.#browserPid);
      for (const page of [...this.#pages.values()]) page.end('died');
      void parts.removeHome().then(over.resolve);
    });
  }

  /** See `RenderThread`. */
  async visit(
    visit: Parameters<RenderThread['visit']>[0],
    { mayFollow, signal }: Parameters<RenderThread['visit']>[1],
  ): Promise<VisitEnd> {
    if (!this.#runs || signal.aborted) return 'died';
    const worker = this.#worker;
    const pages = this.#pages;
    const id = ++this.#lastId;
    return new Promise((settle) => {
      let late: NodeJS.Timeout | null = null;
      const leave = () => {
        this.#post({ kind: 'leave', id });
        late = setTimeout(() => void worker.terminate(), this.#parts.leaveMaxMs);
        late.unref();
      };
      pages.set(id, {
        mayFollow,
        end: (ended) => {
          pages.delete(id);
          signal.removeEventListener('abort', leave);
          if (late !== null) clearTimeout(late);
          if (pages.size === 0) {
            worker.unref();
            this.#parts.onIdle();
          }
          settle(ended);
        },
      });
      worker.ref();
      signal.addEventListener('abort', leave, { once: true });
      this.#post({ kind: 'visit', visit: { ...visit, id, follow: mayFollow === null ? 'anywhere' : 'as-allowed' } });
    });
  }

  /** Has it close its browser; resolves when it is gone, by force where that takes too long. */
  async end(): Promise<void> {
    this.#post({ kind: 'close' });
    const late = setTimeout(() => void this.#worker.terminate(), closeMaxMs);
    await this.ended;
    clearTimeout(late);
  }

  async #receive(message: FromRenderThread): Promise<void> {
    switch (message.kind) {
      case 'visited':
        return this.#pages.get(message.id)?.end(message.end);
      case 'browser':
        this.#browserPid = message.pid;
        return;
      case 'trouble':
        return this.#parts.onTrouble(message.message);
      case 'ask':
        return this.#post({ kind: 'reply', to: message.ask, reply: await this.#replyTo(message.question) });
    }
  }

  async #replyTo(question: RenderQuestion): Promise<RenderReply> {
    if (question.kind === 'resolve') return this.#parts.resolve(question.hostname).catch(() => null);
    const mayFollow = this.#pages.get(question.id)?.mayFollow ?? null;
    return mayFollow === null ? false : mayFollow(new URL(question.url)).catch(() => false);
  }

  #post(message: ToRenderThread): void {
    this.#worker.postMessage(message);
  }
}

/** Playwright starts the browser as a process group, which its pages are in. */
function killGroup(pid: number | null): void {
  if (pid === null) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has gone.
  }
}
