import { useSyncExternalStore } from 'react';

interface Toast {
  id: number;
  text: string;
}

/** How long one is shown at least, and for each character: a refusal may have several sentences. */
const shownMs = 4_000;
const charMs = 80;
/** Warnings take longer to read. */
const warnedMs = 20_000;
const most = 3;

let toasts: readonly Toast[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

function change(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

/** Says that something is done, and which settings of it do nothing. Errors appear where they happened, not here. */
export function toast(done: string, warnings: readonly string[] = []): void {
  const text = [done, ...warnings].join(' ');
  const id = ++lastId;
  change([...toasts.slice(1 - most), { id, text }]);
  const ms = Math.max(warnings.length === 0 ? shownMs : warnedMs, text.length * charMs);
  setTimeout(() => change(toasts.filter((one) => one.id !== id)), ms);
}

export function Toasts() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => toasts,
  );
  return (
    <output className="pointer-events-none fixed inset-x-0 bottom-20 z-50 flex flex-col items-center gap-2 px-4 md:bottom-6">
      {shown.map(({ id, text }) => (
        <div
          key={id}
          className="max-w-3xl break-words rounded-md border border-line-strong bg-raised px-3 py-2 text-sm"
        >
          {text}
        </div>
      ))}
    </output>
  );
}
