/** The parts of code that have colours: the tree that highlight.js builds. Its own output is a string of HTML. */
import hljs from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import c from 'highlight.js/lib/languages/c';
import css from 'highlight.js/lib/languages/css';
import diff from 'highlight.js/lib/languages/diff';
import go from 'highlight.js/lib/languages/go';
import java from 'highlight.js/lib/languages/java';
import json from 'highlight.js/lib/languages/json';
import python from 'highlight.js/lib/languages/python';
import rust from 'highlight.js/lib/languages/rust';
import sql from 'highlight.js/lib/languages/sql';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';
import yaml from 'highlight.js/lib/languages/yaml';

const LANGUAGES = { bash, c, css, diff, go, java, json, python, rust, sql, typescript, xml, yaml };
for (const [name, language] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, language);
hljs.registerAliases(['js', 'jsx', 'javascript', 'mjs', 'cjs'], { languageName: 'typescript' });
hljs.registerAliases(['cpp', 'c++', 'h'], { languageName: 'c' });

export interface CodeNode {
  scope?: string;
  children: (CodeNode | string)[];
}

/** Code in a text in code, and so on. The page is drawn level by level, and a program of a model could exhaust its stack. */
const DEPTH_MAX = 32;

/** Undefined where the language is unknown, or where the text nests too deep. */
export function codeTree(text: string, language: string): CodeNode | undefined {
  const name = language.toLowerCase();
  if (hljs.getLanguage(name) === undefined) return undefined;
  const { _emitter } = hljs.highlight(text, { language: name, ignoreIllegals: true }) as unknown as {
    _emitter: { rootNode: CodeNode };
  };
  const { rootNode } = _emitter;
  return isDeeper(rootNode, DEPTH_MAX) ? undefined : rootNode;
}

function isDeeper({ children }: CodeNode, levels: number): boolean {
  return children.some((child) => typeof child !== 'string' && (levels === 0 || isDeeper(child, levels - 1)));
}
