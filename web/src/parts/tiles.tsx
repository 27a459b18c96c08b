import type { ReactNode } from 'react';

/** The figures of a page, by name: two in a line on a phone, all in one on a desktop. */
export function Tiles({ of }: { of: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className="grid grid-cols-2 gap-px overflow-hidden rounded-lg border border-line bg-line sm:grid-cols-3 xl:grid-cols-6">
      {of.map(([name, value]) => (
        <div key={name} className="bg-panel px-4 py-2.5">
          <dt className="text-muted text-xs">{name}</dt>
          <dd className="mt-0.5 font-semibold [overflow-wrap:anywhere] text-lg">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
