/** The answer of a run while it is written. */
import { useEffect, useRef } from 'preact/hooks';
import { Markdown } from '../../ui/markdown.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { useAnswer } from './use-answer.ts';

export function Answer({ runId }: { runId: string }) {
  const { text, tool } = useAnswer(runId).value;
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // Follows the text only for somebody who reads its end.
    const { scrollHeight } = document.documentElement;
    if (scrollHeight - innerHeight - scrollY < 200) end.current?.scrollIntoView({ block: 'end' });
  }, [text]);
  return (
    <>
      <div class="text">
        <Markdown text={text} unfinished />
      </div>
      {tool !== undefined && (
        <p class="muted">
          <code>
            <VisibleText text={tool} />
          </code>
        </p>
      )}
      <div ref={end} />
    </>
  );
}
