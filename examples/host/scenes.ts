/**
 * The scenes of the demo: what happens in the project, what the model answers, and the
 * exact instruction messages that it must receive with each request.
 */
import type { Reply } from './model.ts'

/** One turn of the session. */
export interface Scene {
  title: string
  /** What a person should know while looking at it. */
  about: string
  /** A host of its own: gone on with from the saved log, or new and empty. */
  host?: { maxBytes: number, from: 'log' | 'nothing' }
  /** Changes of the project outside the agent, relative to it; null deletes. */
  files?: Record<string, string | null>
  prompt: string
  replies: Reply[]
  /** For each request in turn, the new instruction messages in it. */
  receives: string[][]
}

const TESTED = '# Webshop\n\nRun `npm test` before you commit.\n'
const LINTED = '# Webshop\n\nRun `npm test` and `npm run lint` before you commit.\n'

/** What stands in the temporary directory when the demo begins. */
export const FILES: Record<string, string> = {
  '../home/AGENTS.md': 'Answer in short sentences.\n',
  '.git/HEAD': 'ref: refs/heads/main\n',
  'AGENTS.md': TESTED,
  'CLAUDE.md': TESTED,
  'AGENTS.local.md': 'My test database is on port 5433.\n',
  'packages/cart/AGENTS.md': 'Prices are integers, in cents.\n',
  'packages/cart/total.ts': 'export const total = (cents: number[]) => 0\n',
}

const AUTHORITY = 'They do not override system, developer, or direct user instructions.'
const INTRODUCTION = `The following workspace instructions may be relevant to your work. Use them as guidance when applicable. More specific instructions take precedence over broader ones. ${AUTHORITY}`
const CART = `These instructions apply to work under \`packages/cart\`. Use them as guidance when relevant; more specific instructions take precedence. ${AUTHORITY}`
const CHANGED = 'This file changed after it was loaded. Use the following content instead of the previously loaded instructions from this file.'

function reminder(...paragraphs: string[]): string {
  return `<system-reminder>\n${paragraphs.join('\n\n')}\n</system-reminder>`
}

export const SCENES: Scene[] = [
  {
    title: 'Baseline',
    about: 'The first request carries the user-global file and the project\'s, broadest first. CLAUDE.md says the same as AGENTS.md, so it is told once.',
    host: { maxBytes: 65_536, from: 'nothing' },
    prompt: 'Hello!',
    replies: [{ say: 'Hello.' }],
    receives: [[reminder(
      INTRODUCTION,
      'Instructions from: $DSH_HOME/AGENTS.md',
      'Answer in short sentences.\n',
      'Instructions from: AGENTS.md',
      TESTED,
      'Instructions from: AGENTS.local.md',
      'My test database is on port 5433.\n',
    )]],
  },
  {
    title: 'A nested file, after a read',
    about: 'The model reads a file further down. The instructions there reach it with its next request.',
    prompt: 'What does total() return?',
    replies: [{ tool: 'read', arguments: { file_path: 'packages/cart/total.ts' } }, { say: 'Zero.' }],
    receives: [[], [reminder('Additional instructions from: packages/cart/AGENTS.md', CART, 'Prices are integers, in cents.\n')]],
  },
  {
    title: 'An edit',
    about: 'The model changes the instructions themselves; it is told what is in force now.',
    prompt: 'Our prices are in euro cents. Note that down.',
    replies: [
      { tool: 'edit', arguments: { file_path: 'packages/cart/AGENTS.md', old_string: 'in cents', new_string: 'in euro cents' } },
      { say: 'Noted.' },
    ],
    receives: [[], [reminder(
      'Updated instructions from: packages/cart/AGENTS.md',
      CHANGED,
      'Prices are integers, in euro cents.\n',
    )]],
  },
  {
    title: 'A duplicate CLAUDE.md',
    about: 'The model writes a copy for another tool. Only white space differs: nothing is told twice.',
    prompt: 'Some of us use another tool. Copy the notes to CLAUDE.md.',
    replies: [
      { tool: 'write', arguments: { file_path: 'packages/cart/CLAUDE.md', content: 'Prices are integers, in euro cents.\n\n' } },
      { say: 'Copied.' },
    ],
    receives: [[], []],
  },
  {
    title: 'A removal',
    about: 'A person deletes the one and leaves the copy. The model hears of both at its next step.',
    files: { 'packages/cart/AGENTS.md': null },
    prompt: 'I removed AGENTS.md there.',
    replies: [{ say: 'I see.' }],
    receives: [[reminder(
      'Instructions removed: packages/cart/AGENTS.md',
      'The previously loaded instructions from this file no longer apply.',
      'Additional instructions from: packages/cart/CLAUDE.md',
      CART,
      'Prices are integers, in euro cents.\n\n',
    )]],
  },
  {
    title: 'A resume',
    about: 'The host stops, AGENTS.md and its duplicate change, and a new host goes on with the saved log. What the model has seen stays; only the change is told.',
    host: { maxBytes: 65_536, from: 'log' },
    files: { 'AGENTS.md': LINTED, 'CLAUDE.md': LINTED },
    prompt: 'I am back.',
    replies: [{ say: 'Welcome back.' }],
    receives: [[reminder(
      'Updated instructions from: AGENTS.md',
      CHANGED,
      LINTED,
    )]],
  },
  {
    title: 'A budget',
    about: 'A new session with room for 440 bytes. Broader files give way first; the notice names what is missing.',
    host: { maxBytes: 440, from: 'nothing' },
    prompt: 'Hello again!',
    replies: [{ say: 'Hello.' }],
    receives: [[reminder(
      'Workspace instruction budget 440 bytes: omitted $DSH_HOME/AGENTS.md, AGENTS.md',
      INTRODUCTION,
      'Instructions from: AGENTS.local.md',
      'My test database is on port 5433.\n',
    )]],
  },
  {
    title: 'A smaller budget',
    about: 'With room for 304 bytes even the most specific file has to be cut.',
    host: { maxBytes: 304, from: 'nothing' },
    prompt: 'And again!',
    replies: [{ say: 'Hello.' }],
    receives: [[reminder(
      'Workspace instruction budget 304 bytes: omitted $DSH_HOME/AGENTS.md, AGENTS.md; truncated AGENTS.local.md from 34 to 19 bytes',
      'Workspace instructions were omitted or truncated to fit the configured byte budget.',
      'Instructions from: AGENTS.local.md',
      'My test database is',
    )]],
  },
]
