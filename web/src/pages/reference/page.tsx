import { useQuery } from '@tanstack/react-query';
import { BookOpen } from 'lucide-react';
import { useMemo } from 'react';
import { useCaller } from '../../api/caller.ts';
import { Button } from '../../parts/button.tsx';
import { classes } from '../../parts/classes.ts';
import { SearchInput } from '../../parts/controls.tsx';
import { Empty } from '../../parts/empty.tsx';
import { useFilters } from '../../parts/filters.ts';
import { Page } from '../../parts/page.tsx';
import { Read } from '../../parts/read.tsx';
import { SpeaksAs } from '../../parts/speaks-as.tsx';
import { isFound, operationsOf } from './open-api.ts';
import { openApiQuery } from './open-api-query.ts';
import { OperationView } from './operation-view.tsx';
import { OperationsList } from './operations-list.tsx';

/** Everything that is served, from `/openapi.json`. */
export default function ReferencePage() {
  const [{ text = '', operation: chosen }, setFilters] = useFilters<'text' | 'operation'>();
  const callers = useCaller();
  const query = useQuery(openApiQuery);
  const { data } = query;
  const operations = useMemo(() => (data === undefined ? [] : operationsOf(data)), [data]);
  const found = text === '' ? operations : operations.filter((operation) => isFound(operation, text));
  const operation = operations.find(({ id }) => id === chosen);
  return (
    <Page title="API reference" opened={operation?.id} actions={<SpeaksAs {...callers} />}>
      <Read query={query}>
        {(document) => (
          <div className="grid min-w-0 items-start gap-6 lg:grid-cols-[22rem_minmax(0,1fr)]">
            {/* On a phone there is room for one of the two. */}
            <div className={classes('flex min-w-0 flex-col gap-3', operation !== undefined && 'hidden lg:flex')}>
              <SearchInput
                label="Find by path or words"
                value={text}
                onValue={(value) => setFilters({ text: value })}
                className="w-full"
              />
              {found.length === 0 && <p className="px-2 text-muted text-sm">No operation matches.</p>}
              <OperationsList
                operations={found}
                chosen={operation?.id}
                open={text !== ''}
                onChoose={(id) => setFilters({ operation: id }, 'step')}
              />
            </div>
            {operation === undefined ? (
              <div className="hidden lg:block">
                <Empty icon={<BookOpen />} title="Choose an operation">
                  You see its parameters and its response, and you can try it. The document is at /openapi.json.
                </Empty>
              </div>
            ) : (
              <div className="flex min-w-0 flex-col gap-3">
                <div className="lg:hidden">
                  <Button onClick={() => setFilters({ operation: '' }, 'step')}>All operations</Button>
                </div>
                <OperationView key={operation.id} document={document} operation={operation} callers={callers} />
              </div>
            )}
          </div>
        )}
      </Read>
    </Page>
  );
}
