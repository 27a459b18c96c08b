// biome-ignore-all lint/suspicious/noArrayIndexKey: texts may be equal; their place tells them apart.
import { Section } from '../../parts/page.tsx';

interface SimilaritiesProps {
  texts: readonly string[];
  vectors: readonly (readonly number[])[];
}

/** Cosine similarity of all pairs as a table in colours, and the nearest pairs in words. */
export function Similarities({ texts, vectors }: SimilaritiesProps) {
  const cosines = vectors.map((a) => vectors.map((b) => cosine(a, b)));
  const pairs = texts
    .flatMap((_, a) => texts.slice(a + 1).map((__, at) => ({ a, b: a + 1 + at, value: cosines[a]![a + 1 + at]! })))
    .sort((first, second) => second.value - first.value)
    .slice(0, 5);
  return (
    <div className="flex min-w-0 flex-col gap-4">
      <Section
        title="Cosine similarity"
        inside="flush"
        actions={<span className="text-muted text-xs">{vectors[0]?.length ?? 0} numbers each</span>}
      >
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls sideways must be reached by the keyboard. */}
        <section className="overflow-x-auto p-4" tabIndex={0} aria-label="Cosine similarity of all pairs">
          <table className="border-separate border-spacing-0.5 text-xs">
            <thead>
              <tr>
                <td />
                {texts.map((text, at) => (
                  <th key={at} scope="col" title={text} className="w-12 pb-1 font-medium text-muted">
                    {at + 1}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {texts.map((text, row) => (
                <tr key={row}>
                  <th scope="row" className="max-w-40 truncate pr-2 text-left font-normal sm:max-w-64" title={text}>
                    <span className="font-medium text-muted">{row + 1}</span> {text}
                  </th>
                  {texts.map((other, column) => (
                    <Cell key={column} value={cosines[row]![column]!} title={`${text} · ${other}`} />
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      </Section>
      {pairs.length > 0 && (
        <Section title="Most similar pairs" inside="flush">
          <ol>
            {pairs.map(({ a, b, value }) => (
              <li key={`${a} ${b}`} className="flex items-center gap-3 border-line border-b px-4 py-2 last:border-b-0">
                <span className="w-12 shrink-0 font-medium">{value.toFixed(3)}</span>
                <span className="min-w-0 flex-1 truncate" title={`${texts[a]} · ${texts[b]}`}>
                  {texts[a]} <span className="text-faint">·</span> {texts[b]}
                </span>
              </li>
            ))}
          </ol>
        </Section>
      )}
    </div>
  );
}

function Cell({ value, title }: { value: number; title: string }) {
  const share = Math.round(Math.max(0, Math.min(1, value)) * 100);
  return (
    <td
      title={title}
      className="h-9 w-12 rounded text-center"
      style={{
        background: `color-mix(in srgb, var(--accent) ${share}%, var(--hover))`,
        color: share > 55 ? 'var(--accent-ink)' : 'var(--ink)',
      }}
    >
      {value.toFixed(2)}
    </td>
  );
}

function cosine(a: readonly number[], b: readonly number[]): number {
  let [product, lengthA, lengthB] = [0, 0, 0];
  for (let at = 0; at < a.length; at += 1) {
    product += a[at]! * b[at]!;
    lengthA += a[at]! ** 2;
    lengthB += b[at]! ** 2;
  }
  return lengthA === 0 || lengthB === 0 ? 0 : product / Math.sqrt(lengthA * lengthB);
}
