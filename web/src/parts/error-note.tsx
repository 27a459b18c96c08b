import { AlertTriangle } from 'lucide-react';
import type { ReactNode } from 'react';
import { ApiError } from '../api/request.ts';

/** Whether the requested thing does not exist. */
export function isMissing(error: Error | null): boolean {
  return error instanceof ApiError && error.status === 404;
}

/** An error in the server's words, with a way on. */
export function ErrorNote({ error, retry }: { error: Error; retry?: () => void }) {
  return (
    <Note tone="bad">
      <span className="[overflow-wrap:anywhere]">{error.message}</span>
      {retry !== undefined && (
        <button type="button" onClick={retry} className="ml-2 font-medium underline underline-offset-2">
          Try again
        </button>
      )}
    </Note>
  );
}

const tones = {
  bad: 'border-bad/40 bg-bad-soft',
  warn: 'border-warn/40 bg-warn-soft',
  ok: 'border-ok/40 bg-ok-soft',
  plain: 'border-line bg-hover',
};
const inks = { bad: 'text-bad', warn: 'text-warn', ok: 'text-ok', plain: 'text-muted' };

/** A sentence that must not be overlooked. */
export function Note({ tone, icon, children }: { tone: keyof typeof tones; icon?: ReactNode; children: ReactNode }) {
  return (
    <div
      role={tone === 'bad' ? 'alert' : undefined}
      className={`flex items-start gap-2 rounded-md border px-3 py-2 text-sm ${tones[tone]}`}
    >
      <span className={`mt-0.5 shrink-0 [&>svg]:size-4 ${inks[tone]}`} aria-hidden>
        {icon ?? <AlertTriangle />}
      </span>
      <div className="min-w-0 flex-1">{children}</div>
    </div>
  );
}
