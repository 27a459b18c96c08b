import type { ReactNode } from 'react';
import { Code } from './code.tsx';
import { Empty } from './empty.tsx';

interface BeginProps {
  icon: ReactNode;
  title: string;
  /** The button that makes the first one; false for who may not. */
  action?: ReactNode;
  /** How culvert.yaml has it. */
  yaml: string;
  /** How a terminal does it; absent: no command does. */
  command?: string;
  children: ReactNode;
}

/** There is nothing yet: what it is, and the three ways to begin. */
export function Begin({ icon, title, action, yaml, command, children }: BeginProps) {
  return (
    <Empty icon={icon} title={title} action={action}>
      <p>{children}</p>
      <div className="mt-3 flex w-full max-w-[calc(100vw-5rem)] flex-col gap-2 text-left text-ink">
        <p className="text-muted text-xs">In culvert.yaml:</p>
        <Code label="Configuration" text={yaml} />
        {command !== undefined && (
          <>
            <p className="text-muted text-xs">In a terminal:</p>
            <Code label="Command" text={command} wrap />
          </>
        )}
      </div>
    </Empty>
  );
}
