import { useMutation, useQueryClient } from '@tanstack/react-query';
import { FlaskConical } from 'lucide-react';
import type { ReactNode } from 'react';
import { call } from '../../api/request.ts';
import { useMay } from '../../api/rights.ts';
import { Button } from '../button.tsx';
import { ErrorNote } from '../error-note.tsx';
import { Facts, Section } from '../page.tsx';
import type { StoredPageProps } from './stored-page.tsx';

interface TestedDetailsProps<Reply> {
  entries: Pick<StoredPageProps<unknown>['entries'], 'addressOf' | 'refresh'>;
  name: string;
  /** Findings of a test, below the facts. Default: none. */
  found?: (reply: Reply) => ReactNode;
  /** Facts. */
  children: ReactNode;
}

/** Facts of a service elsewhere, with a button that asks it now. */
export function TestedDetails<Reply>({ entries, name, found, children }: TestedDetailsProps<Reply>) {
  const client = useQueryClient();
  const may = useMay('providers', 'write');
  const test = useMutation({
    mutationFn: () => call<Reply>('POST', `${entries.addressOf(name)}/test`),
    onSuccess: () => entries.refresh(client),
  });
  return (
    <Section
      title="Details"
      actions={
        may && (
          <Button icon={<FlaskConical className="size-4" />} busy={test.isPending} onClick={() => test.mutate()}>
            Test now
          </Button>
        )
      }
    >
      <div className="flex flex-col gap-4">
        <Facts>{children}</Facts>
        {test.error !== null && <ErrorNote error={test.error} />}
        {test.data !== undefined && found?.(test.data)}
      </div>
    </Section>
  );
}
