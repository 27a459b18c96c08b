import type { Caller } from '../../api/caller.ts';
import { Away } from '../../parts/away.tsx';
import { Input, Select } from '../../parts/controls.tsx';
import { Note } from '../../parts/error-note.tsx';
import { plural } from '../../parts/format.ts';
import { useStoredFields } from '../../parts/forms/fields.ts';
import { Field } from '../../parts/forms/form.tsx';
import { Markdown } from '../../parts/markdown.tsx';
import { Section } from '../../parts/page.tsx';
import { Trial } from '../playground/trial.tsx';
import { useCall } from '../playground/use-call.ts';
import type { SearchAnswer, SearchHit } from './tool-answers.ts';

const limits = ['5', '10', '20'];

/** Hits of the web, or of the pages that were read before. */
export function SearchView({ caller }: { caller: Caller }) {
  const [form, field, change] = useStoredFields('tools.search', {
    query: '',
    source: 'web',
    time: '',
    limit: '5',
    read: false,
  });
  const { query, source, time, limit, read } = form;
  const call = useCall<SearchAnswer>(caller, (response) => response.json());
  const body = {
    query,
    limit: Number(limit),
    sources: [source],
    ...(time !== '' && { time_range: time }),
    ...(read && { scrapeOptions: { formats: ['markdown'] } }),
  };
  return (
    <Trial
      caller={caller}
      call={call}
      action="Search"
      disabled={query.trim() === ''}
      onRun={() => call.run('/v1/tools/search', () => body)}
      hint="The results appear here."
      result={call.answer === null ? null : <Hits answer={call.answer} />}
    >
      <Field name="query" label="Query">
        <Input data-search {...field('query')} />
      </Field>
      <Field name="sources" label="Type">
        <Select {...field('source')}>
          <option value="web">Web pages</option>
          <option value="news">News</option>
          <option value="images">Images</option>
        </Select>
      </Field>
      <div className="grid grid-cols-2 gap-3">
        <Field name="time_range" label="Published">
          <Select {...field('time')}>
            <option value="">Any time</option>
            <option value="day">The last day</option>
            <option value="week">The last week</option>
            <option value="month">The last month</option>
            <option value="year">The last year</option>
          </Select>
        </Field>
        <Field name="limit" label="Max results">
          <Select {...field('limit')}>
            {limits.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </Select>
        </Field>
      </div>
      <label className="inline-flex min-h-6 items-center gap-2 text-sm">
        <input type="checkbox" checked={read} onChange={() => change({ read: !read })} />
        Also scrape the results. Each page costs as much as a scrape
      </label>
    </Trial>
  );
}

function Hits({ answer: { data, provider, cached, warning } }: { answer: SearchAnswer }) {
  const hits = Object.values(data).flat();
  return (
    <Section title={`${plural(hits.length, 'result')} from ${provider}${cached ? ', cached' : ''}`}>
      <div className="flex flex-col gap-4">
        {warning !== undefined && <Note tone="warn">{warning}</Note>}
        {hits.length === 0 && <p className="text-muted text-sm">There are no results.</p>}
        <ol className="flex flex-col gap-4" aria-label="Results">
          {hits.map((hit) => (
            <li key={`${hit.url} ${hit.imageUrl ?? ''}`}>
              <Hit hit={hit} />
            </li>
          ))}
        </ol>
      </div>
    </Section>
  );
}

function Hit({ hit: { url, title, description, publishedDate, imageUrl, markdown, metadata } }: { hit: SearchHit }) {
  return (
    <article className="flex flex-col gap-1 text-sm [overflow-wrap:anywhere]">
      <p className="font-medium">
        <Away href={imageUrl ?? url}>{title}</Away>
      </p>
      <p className="text-muted text-xs">
        {url}
        {publishedDate !== undefined && ` · ${publishedDate.slice(0, 10)}`}
      </p>
      {description !== undefined && <p>{description}</p>}
      {metadata?.error !== undefined && <p className="text-bad text-xs">{metadata.error}</p>}
      {markdown !== undefined && (
        <details>
          <summary className="cursor-default text-muted">Page content</summary>
          <div className="mt-2 border-line border-l-2 pl-3">
            <Markdown text={markdown} />
          </div>
        </details>
      )}
    </article>
  );
}
