import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { RefreshCw } from 'lucide-react';
import { useCallback, useMemo, useState } from 'react';
import { ApiError, call } from '../../api/request.ts';
import { useMay } from '../../api/rights.ts';
import { serverPath } from '../../api/server-path.ts';
import { Button } from '../../parts/button.tsx';
import { classes } from '../../parts/classes.ts';
import { SearchInput, Segments } from '../../parts/controls.tsx';
import { Empty } from '../../parts/empty.tsx';
import { ErrorNote } from '../../parts/error-note.tsx';
import { useFilters } from '../../parts/filters.ts';
import { count } from '../../parts/format.ts';
import { Section } from '../../parts/page.tsx';
import { SkeletonRows } from '../../parts/skeleton.tsx';
import { Badge } from '../../parts/status.tsx';
import { toast } from '../../parts/toast.tsx';
import { configQuery, type Setting } from './config-query.ts';
import { type Problem, Problems } from './problems.tsx';

/** The configuration in force, every default filled in, and a button that reads the file again. */
export function InForce() {
  const [{ text = '', which }, setFilters] = useFilters<'text' | 'which'>();
  const { data, error, refetch } = useQuery(configQuery);
  const sections = useMemo(() => sectionsOf(data?.settings ?? [], text.toLowerCase(), which), [data, text, which]);
  const onText = useCallback((value: string) => setFilters({ text: value }), [setFilters]);
  return (
    <>
      <div className="flex flex-wrap items-center gap-2">
        <SearchInput label="Find by name or value" value={text} onValue={onText} className="w-full sm:w-72" />
        <Segments
          label="Settings shown"
          value={which === 'set' ? 'set' : 'all'}
          options={[
            { value: 'all', label: 'All' },
            { value: 'set', label: 'Not the default' },
          ]}
          onValue={(value) => setFilters({ which: value === 'set' ? 'set' : '' })}
        />
        <p className="min-w-0 flex-1 basis-64 text-muted [overflow-wrap:anywhere]">
          {data !== undefined && (data.file ?? 'There is no configuration file.')}
        </p>
        {data?.file != null && <Reload />}
      </div>
      {error !== null && <ErrorNote error={error} retry={() => void refetch()} />}
      {data === undefined && error === null && <SkeletonRows />}
      {data !== undefined && sections.length === 0 && <Empty title="No setting matches." />}
      {sections.map(([name, settings]) => (
        <Settings key={name} name={name} settings={settings} />
      ))}
    </>
  );
}

/** Settings of a section that it begins with. A file with hundreds of models has thousands, which take seconds to draw. */
const firstSettings = 100;

function Settings({ name, settings }: { name: string; settings: readonly Setting[] }) {
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? settings : settings.slice(0, firstSettings);
  return (
    <Section title={name} inside="flush" actions={<Described name={name} />}>
      <dl className="divide-y divide-line">
        {shown.map(({ path, value, from }) => (
          <div key={path} className="grid gap-x-4 px-4 py-1.5 sm:grid-cols-[18rem_minmax(0,1fr)]">
            <dt className="font-mono text-muted text-xs leading-5 [overflow-wrap:anywhere]">{path}</dt>
            <dd className="flex flex-wrap items-center gap-x-2 font-mono text-xs leading-5">
              <span className={classes('[overflow-wrap:anywhere]', from === 'set' ? 'font-semibold' : 'text-muted')}>
                {value ?? 'not set'}
              </span>
              {from === 'set' && <Badge tone="accent">set</Badge>}
            </dd>
          </div>
        ))}
      </dl>
      {shown.length < settings.length && (
        <div className="border-line border-t px-2 py-1">
          <Button look="quiet" size="row" onClick={() => setWhole(true)}>
            Show {count(settings.length - shown.length)} more of {name}
          </Button>
        </div>
      )}
    </Section>
  );
}

/** Keys without a section, which the documentation has under one heading. */
const otherKeys = new Set(['default_plan', 'simulator', 'autodetect']);

/** Leads to what the documentation says of a section. */
function Described({ name }: { name: string }) {
  return (
    <a
      href={`${serverPath}/docs/configuration#${otherKeys.has(name) ? 'other-keys' : name}`}
      className="text-accent text-sm underline-offset-2 hover:underline"
    >
      Documentation<span className="sr-only"> of {name}</span>
    </a>
  );
}

/** By the first part of their paths. */
function sectionsOf(settings: readonly Setting[], text: string, which: string | undefined) {
  const found = settings.filter(
    ({ path, value, from }) =>
      (path.toLowerCase().includes(text) || value?.toLowerCase().includes(text)) && (which !== 'set' || from === 'set'),
  );
  return [...Map.groupBy(found, ({ path }) => /^[^.[]+/.exec(path)?.[0] ?? path)];
}

function Reload() {
  const client = useQueryClient();
  const may = useMay('settings', 'write');
  const [problems, setProblems] = useState<readonly Problem[]>([]);
  const reload = useMutation({
    mutationFn: (force: boolean) =>
      call<{ at_next_start: readonly string[] }>('POST', '/admin/v1/config/reload', { body: { force } }),
    onSuccess({ at_next_start: waiting }) {
      setProblems([]);
      toast(
        waiting.length === 0
          ? 'The configuration file was reloaded.'
          : `The configuration file was reloaded. At the next start: ${waiting.join(', ')}.`,
      );
      void client.invalidateQueries();
    },
    onError(error) {
      setProblems(error instanceof ApiError ? ((error.members.errors as Problem[] | undefined) ?? []) : []);
    },
  });
  if (!may) return null;
  return (
    <>
      <Button icon={<RefreshCw className="size-4" />} busy={reload.isPending} onClick={() => reload.mutate(false)}>
        Reload the file
      </Button>
      {reload.error !== null && (
        <div className="flex w-full flex-col gap-2">
          <ErrorNote error={reload.error} />
          <Problems problems={problems} tone="bad" />
          {problems.some(({ message }) => message.includes('--force')) && (
            <div>
              <Button look="danger" onClick={() => reload.mutate(true)}>
                Reload anyway
              </Button>
            </div>
          )}
        </div>
      )}
    </>
  );
}
