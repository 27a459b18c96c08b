import { Square } from 'lucide-react';
import { Button } from './button.tsx';

/** Ends a call that runs. */
export function StopButton({ onStop, title }: { onStop: () => void; title?: string }) {
  return (
    <Button icon={<Square className="size-3.5 fill-current" aria-hidden />} onClick={onStop} title={title}>
      Stop
    </Button>
  );
}
