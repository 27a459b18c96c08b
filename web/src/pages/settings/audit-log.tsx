import { useState } from 'react';
import type { AuditReply } from '../../../../src/admin/audit.ts';
import { usePages } from '../../api/pages.ts';
import { useMay } from '../../api/rights.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Empty } from '../../parts/empty.tsx';
import { Moment } from '../../parts/figures.tsx';
import { useFilters } from '../../parts/filters.ts';
import { instant } from '../../parts/format.ts';
import { FilterInput } from '../../parts/forms/suggest-input.tsx';
import { type Column, PagedTable } from '../../parts/tables/table.tsx';

type AuditRow = AuditReply['data'][number];

/** Filters of the log, in the URL. */
export const auditFilters = ['actor', 'action', 'subject'] as const;

/** Changes with their authors, newest first. */
export function AuditLog() {
  const [{ actor, action, subject }, setFilters] = useFilters<(typeof auditFilters)[number]>();
  const query = { actor, action, subject };
  const isFiltered = Object.values(query).some((value) => value !== undefined);
  const mayListOperators = useMay('operators', 'read');
  const pages = usePages<AuditRow>('/admin/v1/audit', query, { inUrl: true });
  const [shown, setShown] = useState<AuditRow | null>(null);
  const columns: Column<AuditRow>[] = [
    { head: 'Time', cell: ({ at }) => <Moment at={at} />, className: 'w-px' },
    { head: 'Operator', cell: ({ actor }) => actor },
    { head: 'Action', value: ({ action }) => action, cell: ({ action }) => <Action name={action} /> },
    { head: 'Subject', from: 'sm', cell: ({ subject }) => <span className="[overflow-wrap:anywhere]">{subject}</span> },
    { head: 'Fields', from: 'lg', cell: (row) => <span className="text-muted">{changedFields(row).join(', ')}</span> },
    {
      head: 'Change',
      kind: 'actions',
      align: 'right',
      className: 'w-px',
      cell: (row) => (
        <Button look="quiet" size="row" onClick={() => setShown(row)}>
          Show
        </Button>
      ),
    },
  ];
  return (
    <>
      <div className="flex flex-wrap items-center gap-2">
        <FilterInput
          label="Operator"
          {...(mayListOperators && { from: '/admin/v1/operators', field: 'name' })}
          value={actor}
          onValue={(value) => setFilters({ actor: value })}
        />
        <FilterInput label="Action" value={action} onValue={(value) => setFilters({ action: value })} />
        <FilterInput label="Subject" value={subject} onValue={(value) => setFilters({ subject: value })} />
      </div>
      <PagedTable
        label="Audit log"
        pages={pages}
        columns={columns}
        keyOf={({ id }) => String(id)}
        empty={
          isFiltered ? (
            <Empty title="No change matches.">
              An action is a word such as key, for all that was done to keys, or key.revoke. A subject is an id.
            </Empty>
          ) : (
            <Empty title="There are no changes yet.">
              Every change to the setup appears here, with the operator who made it.
            </Empty>
          )
        }
      />
      {shown !== null && (
        <Dialog
          open
          onClose={() => setShown(null)}
          width="wide"
          title={`${shown.action} ${shown.subject}`}
          description={`${shown.actor}, ${instant(Date.parse(shown.at))}`}
        >
          <Change row={shown} />
        </Dialog>
      )}
    </>
  );
}

/** `operator.create`, which may go on below behind its area. */
function Action({ name }: { name: string }) {
  const dot = name.indexOf('.') + 1;
  return (
    <code className="font-mono text-xs">
      {name.slice(0, dot)}
      <wbr />
      {name.slice(dot)}
    </code>
  );
}

/** Field by field, before and after. */
function Change({ row }: { row: AuditRow }) {
  const before = fieldsOf(row.before);
  const after = fieldsOf(row.after);
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  if (names.length === 0) return <p className="text-muted">No field was recorded.</p>;
  return (
    <div className="overflow-x-auto">
      <table className="w-full text-left text-sm">
        <thead>
          <tr className="border-line border-b text-muted text-xs">
            <th className="py-1 pr-4 font-medium">Field</th>
            <th className="py-1 pr-4 font-medium">Before</th>
            <th className="py-1 font-medium">After</th>
          </tr>
        </thead>
        <tbody>
          {names.map((name) => {
            const [was, is] = [written(before[name]), written(after[name])];
            return (
              <tr key={name} className="border-line border-b align-top last:border-b-0">
                <td className="py-1.5 pr-4 text-muted">{name}</td>
                <td className="py-1.5 pr-4 font-mono text-xs [overflow-wrap:anywhere]">{was}</td>
                <td
                  className={`py-1.5 font-mono text-xs [overflow-wrap:anywhere] ${was === is ? '' : 'font-medium text-accent'}`}
                >
                  {is}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function changedFields({ before, after }: AuditRow): string[] {
  const [was, is] = [fieldsOf(before), fieldsOf(after)];
  return Object.keys({ ...was, ...is }).filter((name) => written(was[name]) !== written(is[name]));
}

function fieldsOf(value: unknown): Record<string, unknown> {
  if (value === null || value === undefined) return {};
  return typeof value === 'object' ? (value as Record<string, unknown>) : { value };
}

function written(value: unknown): string {
  return value === undefined ? '–' : typeof value === 'string' ? value : JSON.stringify(value);
}
