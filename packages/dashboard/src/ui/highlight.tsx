/** Code in colours. */
import type { ComponentChildren } from 'preact';
import { type CodeNode, codeTree } from './code-tree.ts';

/** The text itself where it has no colours. */
export function highlight(text: string, language: string): ComponentChildren {
  const tree = codeTree(text, language);
  return tree === undefined ? text : toNodes(tree.children);
}

function toNodes(children: CodeNode['children']): ComponentChildren {
  return children.map((child, index) =>
    typeof child === 'string' ? (
      child
    ) : child.scope === undefined ? (
      toNodes(child.children)
    ) : (
      <span key={index} class={`hljs-${child.scope.split('.')[0]}`}>
        {toNodes(child.children)}
      </span>
    ),
  );
}
