export interface Problem {
  line: number;
  column: number;
  path: string;
  message: string;
}

/** Problems of a configuration, with their places. */
export function Problems({ problems, tone }: { problems: readonly Problem[]; tone: 'bad' | 'warn' }) {
  if (problems.length === 0) return null;
  return (
    <ul className="divide-y divide-line rounded-md border border-line bg-panel">
      {problems.map(({ line, column, path, message }) => (
        <li key={`${line}:${column} ${path} ${message}`} className="flex gap-3 px-3 py-1.5">
          <span className={`w-16 shrink-0 font-mono text-xs leading-5 ${tone === 'bad' ? 'text-bad' : 'text-warn'}`}>
            {line}:{column}
          </span>
          <span className="min-w-0 [overflow-wrap:anywhere]">
            {path !== '' && <code className="mr-2 font-mono text-muted text-xs">{path}</code>}
            {message}
          </span>
        </li>
      ))}
    </ul>
  );
}
