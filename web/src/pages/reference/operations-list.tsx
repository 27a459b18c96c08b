import { bySubject, type Operation } from './open-api.ts';

interface OperationsListProps {
  operations: readonly Operation[];
  chosen: string | undefined;
  /** All groups are open: few are left. */
  open: boolean;
  onChoose: (id: string) => void;
}

/** Operations by subject. */
export function OperationsList({ operations, chosen, open, onChoose }: OperationsListProps) {
  return (
    <nav aria-label="Operations" className="flex flex-col gap-1 text-sm">
      {bySubject(operations).map(([group, members]) => (
        <details key={`${group} ${open}`} open={open || members.some(({ id }) => id === chosen)}>
          <summary className="cursor-default rounded px-2 py-1 font-medium hover:bg-hover">
            {group} <span className="font-normal text-muted text-xs">{members.length}</span>
          </summary>
          <ul className="flex flex-col">
            {members.map(({ id, method, path, summary }) => (
              <li key={id}>
                <button
                  type="button"
                  aria-current={id === chosen}
                  title={summary}
                  onClick={() => onChoose(id)}
                  className="flex min-h-7 w-full items-baseline gap-2 rounded px-2 py-1 text-left font-mono text-xs hover:bg-hover aria-[current=true]:bg-accent-soft"
                >
                  <span className="w-12 shrink-0 text-muted">{method}</span>
                  <span className="min-w-0 [overflow-wrap:anywhere]">{path}</span>
                </button>
              </li>
            ))}
          </ul>
        </details>
      ))}
    </nav>
  );
}
