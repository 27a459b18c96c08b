import type { Condition, Point } from './vectors-api.ts';

/** One point: its text, and what else its payload holds. A value that is clicked becomes a filter. */
export function PointCard({ point, onCondition }: { point: Point; onCondition: (condition: Condition) => void }) {
  const { text, ...rest } = point.payload ?? {};
  return (
    <article className="flex flex-col gap-1.5 rounded-lg border border-line bg-panel px-4 py-3">
      <header className="flex items-center gap-3 text-muted text-xs">
        <code className="min-w-0 truncate font-mono">{point.id}</code>
        {point.score !== undefined && <span className="ml-auto text-ink">{point.score.toFixed(3)}</span>}
      </header>
      {text !== undefined && (
        <p className="whitespace-pre-wrap text-base [overflow-wrap:anywhere]">
          {typeof text === 'string' ? text : JSON.stringify(text)}
        </p>
      )}
      <ul className="flex flex-wrap gap-1.5">
        {Object.entries(rest).flatMap(([key, value]) =>
          (Array.isArray(value) ? value : [value]).map((one: unknown, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a list may hold a value twice.
            <li key={`${key} ${at}`} className="max-w-full">
              <Value name={key} value={one} onCondition={onCondition} />
            </li>
          )),
        )}
      </ul>
    </article>
  );
}

interface ValueProps {
  name: string;
  value: unknown;
  onCondition: (condition: Condition) => void;
}

function Value({ name, value, onCondition }: ValueProps) {
  const look = 'block max-w-full truncate rounded bg-hover px-1.5 py-0.5 text-xs';
  const shown = (
    <>
      <span className="text-muted">{name}</span> {typeof value === 'string' ? value : JSON.stringify(value)}
    </>
  );
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') {
    return <span className={look}>{shown}</span>;
  }
  return (
    <button
      type="button"
      title={`Only those whose ${name} is this`}
      className={`${look} hover:bg-accent-soft`}
      onClick={() => onCondition({ key: name, value, not: false })}
    >
      {shown}
    </button>
  );
}
