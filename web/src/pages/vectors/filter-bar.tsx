import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Trash2, X } from 'lucide-react';
import { useState } from 'react';
import type { Caller } from '../../api/caller.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/dialog.tsx';
import { ErrorNote } from '../../parts/error-note.tsx';
import { plural } from '../../parts/format.ts';
import { Choose } from '../../parts/forms/choose.tsx';
import { toast } from '../../parts/toast.tsx';
import { type Condition, conditionText, filterOf, turned } from './conditions.ts';
import { isFilterValue, shownValue, valuesIn } from './payload-values.ts';
import { collectionPath, collectionsKey, type Point, vectors } from './vectors-api.ts';

interface FilterBarProps {
  caller: Caller;
  /** Name of the collection. */
  name: string;
  conditions: readonly Condition[];
  onChange: (conditions: readonly Condition[]) => void;
}

/** Conditions that are clicked together, how many points fulfil them, and a way to delete those. */
export function FilterBar({ caller, name, conditions, onChange }: FilterBarProps) {
  const [deleting, setDeleting] = useState(false);
  const client = useQueryClient();
  const path = collectionPath(name);
  const filter = filterOf(conditions);
  const { data: matched, error } = useQuery({
    queryKey: [collectionsKey, caller.key.id, path, 'count', filter],
    queryFn: async ({ signal }) =>
      (await vectors<{ count: number }>(caller, 'POST', `${path}/points/count`, { filter }, signal)).count,
    enabled: filter !== undefined,
  });
  return (
    <div className="flex flex-wrap items-center gap-2 empty:hidden">
      <AddCondition caller={caller} path={path} onAdd={(condition) => onChange([...conditions, condition])} />
      {conditions.length > 0 && (
        <ul className="contents" aria-label="Filters">
          {conditions.map((condition, at) => (
            <li
              key={JSON.stringify(condition)}
              className="inline-flex h-8 max-w-full items-center rounded-md border border-line-strong bg-panel text-sm"
            >
              <button
                type="button"
                title="Change the comparison"
                className="min-w-0 truncate px-2"
                onClick={() => onChange(conditions.with(at, turned(condition)))}
              >
                <span className="text-muted">{conditionText(condition)}</span>{' '}
                <span className="font-medium">{String(condition.value)}</span>
              </button>
              <button
                type="button"
                aria-label={`Remove the filter of ${condition.key}`}
                className="flex h-full items-center px-1.5 text-muted hover:text-ink"
                onClick={() => onChange(conditions.toSpliced(at, 1))}
              >
                <X className="size-3.5" aria-hidden />
              </button>
            </li>
          ))}
        </ul>
      )}
      {filter !== undefined && matched !== undefined && (
        <>
          <span className="text-muted text-sm">{plural(matched, 'point')}</span>
          {matched > 0 && (
            <Button
              look="danger"
              icon={<Trash2 className="size-4" aria-hidden />}
              title="Delete all points that match the filters"
              onClick={() => setDeleting(true)}
            >
              Delete matching points
            </Button>
          )}
        </>
      )}
      {error !== null && <ErrorNote error={error} />}
      <Confirm
        open={deleting}
        onClose={() => setDeleting(false)}
        title={`Delete ${plural(matched ?? 0, 'point')} of ${name}?`}
        action="Delete matching points"
        onConfirm={async () => {
          await vectors(caller, 'POST', `${path}/points/delete`, { filter });
          await client.invalidateQueries({ queryKey: [collectionsKey] });
          toast(`${plural(matched ?? 0, 'point')} deleted.`);
        }}
      >
        <p>This deletes every point that matches the filters, whatever the search says. You cannot undo it.</p>
        <ul className="mt-2 list-disc pl-5 [overflow-wrap:anywhere]">
          {conditions.map((condition) => (
            <li key={JSON.stringify(condition)}>
              {conditionText(condition)} <span className="font-medium">{String(condition.value)}</span>
            </li>
          ))}
        </ul>
      </Confirm>
    </div>
  );
}

/** Points that are looked at for their fields. */
const sampledMax = 20;
const valuesMax = 100;

type Hit = { value: Condition['value']; count?: number };

interface AddConditionProps {
  caller: Caller;
  /** Path of the collection. */
  path: string;
  onAdd: (condition: Condition) => void;
}

/** A field, then one of the values that points have. */
function AddCondition({ caller, path, onAdd }: AddConditionProps) {
  const [field, setField] = useState<string | null>(null);
  const { data: seen = [] } = useQuery({
    queryKey: [collectionsKey, caller.key.id, path, 'fields'],
    async queryFn({ signal }) {
      const body = { query: { sample: 'random' }, limit: sampledMax, with_payload: true };
      const { points } = await vectors<{ points: Point[] }>(caller, 'POST', `${path}/points/query`, body, signal);
      const values = points.flatMap(({ payload }) => valuesIn(payload ?? {}));
      return values.flatMap(({ path: key, value }) => (key === null || !isFilterValue(value) ? [] : [{ key, value }]));
    },
    staleTime: 60_000,
  });
  const { data: values, error } = useQuery({
    queryKey: [collectionsKey, caller.key.id, path, 'values', field],
    queryFn: async ({ signal }) => {
      const body = { key: field, limit: valuesMax };
      return (await vectors<{ hits: Hit[] }>(caller, 'POST', `${path}/facet`, body, signal)).hits;
    },
    enabled: field !== null,
  });
  if (seen.length === 0) return null;
  const fields = [...new Set(seen.map(({ key }) => key))].toSorted();
  // Fractions are not counted by value.
  const known: readonly Hit[] | undefined =
    values?.length === 0 ? seen.filter(({ key }, at) => key === field && at === placeOf(seen, at)) : values;
  return (
    <>
      <Choose
        label="Field to filter by"
        placeholder="Filter by…"
        value={field}
        options={fields.map((one) => ({ value: one, label: one }))}
        onValue={setField}
        className="w-32"
      />
      {field !== null && known !== undefined && (
        <Choose
          label={`Value of ${field}`}
          placeholder="Value…"
          value={null}
          options={known.map(({ value, count }) => ({
            value: JSON.stringify(value),
            label: shownValue(value).slice(0, 200),
            hint: count === undefined ? undefined : plural(count, 'point'),
          }))}
          onValue={(text) => {
            setField(null);
            onAdd({ key: field, how: 'is', value: JSON.parse(text) as Condition['value'] });
          }}
          className="w-40"
        />
      )}
      {error !== null && <ErrorNote error={error} />}
    </>
  );
}

/** Place of the first condition that equals it. */
function placeOf(seen: readonly Pick<Condition, 'key' | 'value'>[], at: number): number {
  return seen.findIndex(({ key, value }) => key === seen[at]!.key && value === seen[at]!.value);
}
