import { Link } from '@tanstack/react-router';
import { CircleAlert, CircleCheck, TriangleAlert } from 'lucide-react';
import { useState } from 'react';
import type { Wrong } from '../../../../src/admin/troubles/wrong.ts';

/** Shown before the reader asks for the rest. */
const firstFew = 4;

/** Present problems, a sentence each, with a link to the page that shows or fixes it. */
export function Wrongs({ wrong }: { wrong: readonly Wrong[] }) {
  const [all, setAll] = useState(false);
  if (wrong.length === 0) {
    return (
      <p className="flex items-center gap-2 text-muted">
        <CircleCheck className="size-4 text-ok" aria-hidden />
        Nothing is wrong right now.
      </p>
    );
  }
  const shown = all ? wrong : wrong.slice(0, firstFew);
  return (
    <section aria-label="What is wrong right now" className="overflow-hidden rounded-lg border border-line bg-panel">
      <ul className="divide-y divide-line">
        {shown.map(({ severity, text, page, id }) => (
          <li key={text}>
            <Link
              to={
                page === 'settings'
                  ? '/dashboard/settings'
                  : `/dashboard/${page}${id === null ? '' : `/${encodeURIComponent(id)}`}`
              }
              search={page === 'settings' ? { tab: 'doctor' } : {}}
              className="flex items-start gap-2.5 px-4 py-2 hover:bg-hover"
            >
              {severity === 'problem' ? (
                <CircleAlert className="mt-0.5 size-4 shrink-0 text-bad" aria-label="Problem" />
              ) : (
                <TriangleAlert className="mt-0.5 size-4 shrink-0 text-warn" aria-label="Warning" />
              )}
              <span className="min-w-0 [overflow-wrap:anywhere]">{text}</span>
            </Link>
          </li>
        ))}
      </ul>
      {wrong.length > firstFew && (
        <button
          type="button"
          onClick={() => setAll(!all)}
          className="w-full border-line border-t px-4 py-1.5 text-left text-muted text-xs hover:text-ink"
        >
          {all ? 'Show fewer' : `Show ${wrong.length - firstFew} more`}
        </button>
      )}
    </section>
  );
}
