import { Section } from '../../parts/page.tsx';
import type { FieldRow } from './fields-of.ts';

/** Fields or parameters, with their meaning. */
export function FieldsTable({ title, rows }: { title: string; rows: readonly FieldRow[] }) {
  if (rows.length === 0) return null;
  return (
    <Section title={title} inside="flush">
      <ul className="flex flex-col divide-y divide-line text-sm" aria-label={title}>
        {rows.map(({ path, type, required, description }) => (
          <li key={path} className="flex min-w-0 flex-col gap-0.5 px-4 py-2 [overflow-wrap:anywhere]">
            <p className="flex flex-wrap items-baseline gap-x-3">
              <code className="font-mono text-xs">{path}</code>
              <span className="text-muted text-xs">{type}</span>
              {required && <span className="text-warn text-xs">required</span>}
            </p>
            {description !== '' && <p>{description}</p>}
          </li>
        ))}
      </ul>
    </Section>
  );
}
