import { SlidersHorizontal, X } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../parts/button.tsx';
import { SearchInput, Select } from '../../parts/controls.tsx';
import { FilterInput, KeyFilter } from '../../parts/forms/suggest-input.tsx';

export const filterNames = [
  'text',
  'account',
  'key',
  'model',
  'provider',
  'mcp_server',
  'agent',
  'endpoint',
  'status',
  'class',
  'user',
  'tag',
  'key_tag',
  'session',
  'cost_min',
] as const;
export type FilterName = (typeof filterNames)[number];
type Values = Partial<Record<FilterName, string>>;

/** Filters that a phone shows once they are used, or asked for. */
const usual = ['account', 'model', 'provider'] as const;
/** Filters that are shown once they are used, or asked for. */
const rare = ['key', 'mcp_server', 'agent', 'endpoint', 'user', 'tag', 'key_tag', 'session', 'cost_min'] as const;

const statuses = [
  ['', 'Any outcome'],
  ['ok', 'Succeeded'],
  ['failed', 'Failed'],
  ['2xx', '2xx'],
  ['4xx', '4xx'],
  ['429', '429 rate limited'],
  ['499', '499 client disconnected'],
  ['5xx', '5xx'],
] as const;
interface FilterBarProps {
  values: Values;
  onValues: (values: Values) => void;
}

/** Filters of the list. All of them are in the URL. */
export function FilterBar({ values, onValues }: FilterBarProps) {
  const isUsed = (name: FilterName) => values[name] !== undefined;
  const usesRare = rare.some(isUsed);
  const [more, setMore] = useState(usesRare);
  const [hasUsual, setHasUsual] = useState(false);
  // A field that is emptied stays where it is: its next text is typed there.
  if (usesRare && !more) setMore(true);
  if (!hasUsual && usual.some(isUsed)) setHasUsual(true);
  const some = filterNames.some(isUsed);
  const outcome = values.class ?? values.status ?? '';
  const filter = (name: FilterName) => ({
    value: values[name],
    onValue: (value: string) => onValues({ [name]: value }),
  });
  return (
    <>
      <SearchInput
        label="Request id"
        value={values.text ?? ''}
        onValue={(next) => onValues({ text: next })}
        className="w-full sm:w-48"
      />
      <Select
        aria-label="Outcome"
        value={outcome}
        className="w-[calc(50%-4px)] sm:w-auto"
        onChange={({ target: { value } }) =>
          onValues(value === 'ok' || value === 'failed' ? { class: value, status: '' } : { class: '', status: value })
        }
      >
        {statuses.map(([value, label]) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
        {statuses.every(([value]) => value !== outcome) && <option value={outcome}>{outcome}</option>}
      </Select>
      <div className={more || hasUsual ? 'contents' : 'hidden sm:contents'}>
        <FilterInput label="Account" from="/admin/v1/accounts" field="id" {...filter('account')} />
        <FilterInput
          label="Model"
          from="/admin/v1/models"
          field="id"
          value={values.model}
          onValue={(model) => onValues(model === '' ? { model } : { model, agent: '' })}
        />
        <FilterInput label="Provider" from="/admin/v1/providers" field="name" {...filter('provider')} />
      </div>
      {more && (
        <>
          <FilterInput
            label="Endpoint"
            from="/admin/v1/usage?group_by=endpoint"
            field="group"
            {...filter('endpoint')}
          />
          <FilterInput label="MCP server" from="/admin/v1/mcp-servers" field="name" {...filter('mcp_server')} />
          <FilterInput
            label="Agent"
            from="/admin/v1/agents"
            field="name"
            value={values.agent}
            onValue={(agent) => onValues(agent === '' ? { agent } : { agent, model: '' })}
          />
          <KeyFilter {...filter('key')} />
          <FilterInput label="User" from="/admin/v1/usage?group_by=user" field="group" {...filter('user')} />
          <FilterInput label="Tag" from="/admin/v1/usage?group_by=tag" field="group" {...filter('tag')} />
          <FilterInput label="Key tag" from="/admin/v1/usage?group_by=key_tag" field="group" {...filter('key_tag')} />
          <FilterInput label="Session" {...filter('session')} />
          <FilterInput label="Min USD" inputMode="decimal" {...filter('cost_min')} />
        </>
      )}
      <Button
        look="quiet"
        icon={<SlidersHorizontal className="size-4" />}
        aria-expanded={more}
        disabled={usesRare}
        onClick={() => setMore(!more)}
      >
        {more ? 'Fewer' : 'More'}
      </Button>
      {some && (
        <Button
          look="quiet"
          icon={<X className="size-4" />}
          onClick={() => onValues(Object.fromEntries(filterNames.map((name) => [name, ''])))}
        >
          Clear
        </Button>
      )}
    </>
  );
}
