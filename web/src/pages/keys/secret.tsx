import { Button } from '../../parts/button.tsx';
import { Code } from '../../parts/code.tsx';
import { Note } from '../../parts/error-note.tsx';
import { useShownOnce } from '../../parts/forms/use-unsaved.ts';

/** A secret, shown only once: until the reader says that it is copied, leaving the page asks. */
export function Secret({ secret, onDone }: { secret: string; onDone: () => void }) {
  const finish = useShownOnce(onDone);
  return (
    <div className="flex flex-col gap-4">
      <Note tone="warn">Copy it now. It is shown only once, and nobody can look it up later.</Note>
      <Code text={secret} label="Secret" wrap />
      <div className="flex justify-end">
        <Button look="main" onClick={finish}>
          I have copied it
        </Button>
      </div>
    </div>
  );
}
