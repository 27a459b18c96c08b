import type { ReactNode } from 'react';
import { ErrorNote } from './error-note.tsx';
import { SkeletonRows } from './skeleton.tsx';

/** A query of TanStack's, as far as what shows its answer needs it. */
export interface ReadState<Answer> {
  data: Answer | undefined;
  error: Error | null;
  refetch: () => unknown;
}

/** An answer as `children` show it, below the last error; grey lines while it is on its way. */
export function Read<Answer>({
  query: { data, error, refetch },
  children,
}: {
  query: ReadState<Answer>;
  children: (data: Answer) => ReactNode;
}) {
  return (
    <>
      {error !== null && <ErrorNote error={error} retry={() => void refetch()} />}
      {data === undefined && error === null && <SkeletonRows />}
      {data !== undefined && children(data)}
    </>
  );
}
