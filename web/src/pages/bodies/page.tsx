import { Link } from '@tanstack/react-router';
import { ScrollText } from 'lucide-react';
import type { ReactNode } from 'react';
import type { BodiesReply } from '../../../../src/admin/bodies.ts';
import type { BodyRuleReply } from '../../../../src/admin/entries/body-rules.ts';
import { models } from '../../api/entries.ts';
import { textMax, usePages } from '../../api/pages.ts';
import { useMay } from '../../api/rights.ts';
import { SearchInput } from '../../parts/controls.tsx';
import { Empty } from '../../parts/empty.tsx';
import { ErrorNote } from '../../parts/error-note.tsx';
import { Moment } from '../../parts/figures.tsx';
import { useFilters } from '../../parts/filters.ts';
import { AccountFilter, FilterInput } from '../../parts/forms/suggest-input.tsx';
import { Back, Page, Section } from '../../parts/page.tsx';
import { anyTime } from '../../parts/ranges/range.ts';
import { RangePicker } from '../../parts/ranges/range-picker.tsx';
import { useRange } from '../../parts/ranges/use-range.ts';
import { type Column, PagedTable } from '../../parts/tables/table.tsx';
import { RuleFacts, Stop, useBodyRules } from './keep-bodies.tsx';

type Row = BodiesReply['data'][number];

/** A search of this few letters would find everything. */
const textMin = 2;

/** Requests whose texts are kept, and the search in them. */
export default function BodiesPage() {
  const [{ text, account, key, model }, setFilters] = useFilters<'text' | 'account' | 'key' | 'model'>();
  const range = useRange(anyTime, 'any');
  const searchText = text === undefined || text.length < textMin ? undefined : text.slice(0, textMax);
  const some = range.text !== anyTime || [account, key, model].some((one) => one !== undefined);
  const pages = usePages<Row>(
    '/admin/v1/bodies',
    { text: searchText, account, key, model, ...range.query },
    { inUrl: true },
  );
  const filter = (name: 'account' | 'key' | 'model' | 'text') => (value: string) => setFilters({ [name]: value });
  const columns = columnsFor(searchText);
  return (
    <Page
      title="Kept requests"
      before={<Back to="/dashboard/requests" label="Requests" />}
      actions={<RangePicker range={range} any />}
      bar={
        <>
          <SearchInput
            label="Words in requests and answers"
            value={text ?? ''}
            onValue={filter('text')}
            className="w-full sm:w-72"
          />
          <AccountFilter value={account} onValue={filter('account')} />
          <FilterInput label="Model" value={model} onValue={filter('model')} from={models.path} field="id" />
          {key !== undefined && <FilterInput label="Key" value={key} onValue={filter('key')} />}
        </>
      }
    >
      <Rules />
      <PagedTable
        label="Kept requests"
        pages={pages}
        columns={columns}
        keyOf={({ request }) => request}
        to={({ request }) => `/dashboard/requests/${request}`}
        empty={
          <Empty
            icon={<ScrollText />}
            title={
              pages.next !== null
                ? 'None so far.'
                : searchText !== undefined
                  ? 'No kept request has these words.'
                  : some
                    ? 'No kept request matches these filters.'
                    : 'No requests are kept.'
            }
          >
            {pages.next !== null
              ? 'There are more to search: go to the next page.'
              : some
                ? 'Remove a filter or choose a longer time.'
                : 'On the page of a key, an account or a model, you can keep its requests and answers for a while.'}
          </Empty>
        }
      />
    </Page>
  );
}

function columnsFor(text: string | undefined): readonly Column<Row>[] {
  return [
    { head: 'Time', cell: ({ created_at }) => <Moment at={created_at} />, className: 'w-px' },
    {
      head: text === undefined ? 'Request' : 'Match',
      value: ({ excerpt }) => excerpt,
      cell: ({ excerpt }) => (
        <span className="line-clamp-3 min-w-40 [overflow-wrap:anywhere]">
          <Marked excerpt={excerpt} text={text} />
        </span>
      ),
    },
    { head: 'Key', from: 'sm', value: ({ key_label }) => key_label, cell: ({ key_label }) => key_label },
    { head: 'Model', from: 'md', value: ({ model }) => model, cell: ({ model }) => model },
    { head: 'Status', from: 'lg', align: 'right', cell: ({ status }) => status },
  ];
}

/** Highlights the words of the search, and its texts in quotes. */
function Marked({ excerpt, text }: { excerpt: string; text: string | undefined }) {
  const words = (text?.toLowerCase().match(/"[^"]+"|[^\s"]+/g) ?? []).map((word) => word.replaceAll('"', ''));
  const pieces: ReactNode[] = [];
  const lower = excerpt.toLowerCase();
  let at = 0;
  while (at < excerpt.length) {
    const next = words
      .map((word) => ({ start: lower.indexOf(word, at), length: word.length }))
      .filter(({ start }) => start >= 0)
      .reduce((first, one) => (one.start < first.start ? one : first), { start: excerpt.length, length: 0 });
    pieces.push(excerpt.slice(at, next.start));
    if (next.length === 0) break;
    at = next.start + next.length;
    pieces.push(
      <mark key={next.start} className="rounded-sm bg-accent-soft text-ink">
        {excerpt.slice(next.start, at)}
      </mark>,
    );
  }
  return pieces;
}

const places: Record<BodyRuleReply['of'], (name: string) => string> = {
  key: (name) => `/dashboard/keys/${encodeURIComponent(name)}`,
  account: (name) => `/dashboard/accounts/${encodeURIComponent(name)}`,
  model: (name) => `/dashboard/models/${encodeURIComponent(name)}`,
};

/** Whose requests are kept now. */
function Rules() {
  const { data, error, refetch } = useBodyRules();
  const may = useMay('requests', 'write');
  if (error !== null) return <ErrorNote error={error} retry={() => void refetch()} />;
  if (data === undefined || data.data.length === 0) return null;
  return (
    <Section title="Kept now">
      <ul aria-label="Kept now" className="flex flex-col gap-3">
        {data.data.map((rule) => (
          <li key={rule.id} className="flex items-center gap-3">
            <div className="min-w-0 flex-1">
              <span className="text-muted text-sm">{rule.of}</span>{' '}
              <Link to={places[rule.of](rule.name) as never} className="font-medium underline underline-offset-2">
                {rule.label}
              </Link>
              <RuleFacts rule={rule} />
            </div>
            {may && <Stop rule={rule} />}
          </li>
        ))}
      </ul>
    </Section>
  );
}
