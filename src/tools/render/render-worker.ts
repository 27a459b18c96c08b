import { workerData } from 'node:worker_threads';
import { yieldToMainThread } from '../../kernel/priority.ts';
import { threadPort } from '../../kernel/threads/thread-port.ts';
import { type Address, createFetchGuard } from '../../net/fetch-guard.ts';
import { createBrowserKeeper } from './keep-browser.ts';
import type {
  FromRenderThread,
  PageVisit,
  RenderQuestion,
  RenderReply,
  ToRenderThread,
  VisitEnd,
} from './render-message.ts';
import { visitInBrowser } from './visit-in-browser.ts';

const { home } = workerData as { home: string };
// Folder of this thread alone, where Playwright makes the browser's profile.
process.env.TMPDIR = home;
yieldToMainThread();

const post = (message: FromRenderThread, moved: ArrayBuffer[] = []) => threadPort().postMessage(message, moved);
const onTrouble = (message: string) => post({ kind: 'trouble', message });
const keeper = createBrowserKeeper({ home, onBrowser: (pid) => post({ kind: 'browser', pid }) });
const leaving = new Map<number, AbortController>();
const requests = new Map<number, (reply: RenderReply) => void>();
let lastAsk = 0;

function ask(question: RenderQuestion): Promise<RenderReply> {
  return new Promise((resolve) => {
    const number = ++lastAsk;
    requests.set(number, resolve);
    post({ kind: 'ask', ask: number, question });
  });
}

async function resolve(hostname: string): Promise<readonly Address[]> {
  const addresses = await ask({ kind: 'resolve', hostname });
  if (addresses === null || typeof addresses === 'boolean') throw new Error('it has no address');
  return addresses;
}

async function visit(page: PageVisit): Promise<void> {
  const { id, follow } = page;
  const leave = new AbortController();
  leaving.set(id, leave);
  const end = await visitInBrowser(page, {
    keeper,
    guard: createFetchGuard(page.rules, resolve),
    mayFollow:
      follow === 'anywhere' ? null : async (url) => (await ask({ kind: 'follow', id, url: url.href })) === true,
    signal: leave.signal,
    onTrouble,
  });
  leaving.delete(id);
  const moved = movable(end);
  post({ kind: 'visited', id, end: moved.end }, moved.buffers);
}

/** A Buffer may be a part of a larger one, which others use. */
function movable(end: VisitEnd): { end: VisitEnd; buffers: ArrayBuffer[] } {
  if (end === 'died' || !end.ok) return { end, buffers: [] };
  const body = new Uint8Array(end.body);
  const screenshot = end.screenshot === null ? null : new Uint8Array(end.screenshot);
  const buffers = [body, screenshot].flatMap((bytes) => (bytes === null ? [] : [bytes.buffer]));
  return { end: { ...end, body, screenshot } as VisitEnd, buffers };
}

threadPort().on('message', (message: ToRenderThread) => {
  switch (message.kind) {
    case 'visit':
      return void visit(message.visit);
    case 'leave':
      return leaving.get(message.id)?.abort();
    case 'reply':
      requests.get(message.to)?.(message.reply);
      return void requests.delete(message.to);
    case 'close':
      return void keeper.close().finally(() => process.exit());
  }
});
