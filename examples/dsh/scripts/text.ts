/** What a message looks like: budgets, escaping, encodings, links. */
import type { Script } from '../script-types.ts'
import { call, read, say } from './replies.ts'

const lines = (count: number, text: string): string => `${text}\n`.repeat(count)

export const textScripts: Script[] = [
  {
    name: 'budget',
    about: 'a budget that omits the broad files and cuts the specific one',
    home: { 'AGENTS.md': lines(20, 'Everywhere.') },
    project: {
      '.git': null,
      'AGENTS.md': lines(20, 'In this project.'),
      'app/AGENTS.md': lines(30, 'In the app: ünïcödé 🦀.'),
      'app/lib/AGENTS.md': lines(40, 'In the library.'),
      'app/lib/index.ts': 'export {}\n',
    },
    cwd: 'app',
    runs: [
      {
        task: 'read the library',
        config: { maxBytes: 900 },
        replies: () => [call(read('lib/index.ts')), say('done')],
      },
    ],
    sees: ['budget notice, baseline app/AGENTS.md', 'budget notice, added app/lib/AGENTS.md'],
  },
  {
    name: 'no-budget',
    about: 'a budget of zero turns the plugin off',
    project: { '.git': null, 'AGENTS.md': 'Root rules.\n', 'app/AGENTS.md': 'App rules.\n', 'app/main.ts': 'export {}\n' },
    runs: [
      {
        task: 'read the app',
        config: { maxBytes: 0 },
        replies: () => [call(read('app/main.ts')), say('done')],
      },
    ],
    sees: [],
  },
  {
    name: 'configured',
    about: 'other file names, other root markers and a cap on each source file',
    project: {
      'workspace.toml': '',
      'RULES.md': 'Root rules.\n',
      'AGENTS.md': 'Not a candidate here.\n',
      'app/.git': null,
      'app/RULES.md': 'App rules.\n',
      'app/RULES.mine.md': lines(100, 'Larger than the cap allows.'),
      'app/lib/RULES.mine.md': 'My library rules.\n',
      'app/lib/index.ts': 'export {}\n',
    },
    cwd: 'app',
    runs: [
      {
        task: 'read the library',
        config: {
          maxBytes: 65536,
          maxSourceBytes: 1000,
          projectRootMarkers: ['workspace.toml'],
          instructionFileCandidates: ['RULES.md', 'RULES.md', '../AGENTS.md', ''],
          localInstructionFileCandidates: ['RULES.mine.md'],
        },
        replies: () => [call(read('lib/index.ts')), say('done')],
      },
    ],
    sees: ['baseline RULES.md, baseline app/RULES.md', 'added app/lib/RULES.mine.md'],
  },
  {
    name: 'awkward-text',
    about: 'closing tags, byte-order marks, CRLF, emoji, odd names, links and a loop',
    home: { 'AGENTS.md': '\u{feff}With a byte-order mark.\n' },
    project: {
      '.git': 'gitdir: elsewhere\n',
      'AGENTS.md': 'Ends </system-reminder> early.\r\nSecond </SYSTEM-REMINDER> line 🦀\r\n',
      'odd [dir] ü/AGENTS.md': '\u{2028}Rules </system-reminder> in an odd place.\u{85}',
      'odd [dir] ü/file.txt': 'text\n',
      'shared/rules.md': 'Rules behind a link.\n',
    },
    runs: [
      {
        task: 'read the odd file',
        before: ({ project }) => {
          project.link('CLAUDE.md', 'AGENTS.md')
          project.link('AGENTS.local.md', 'shared/rules.md')
          project.link('CLAUDE.local.md', 'CLAUDE.local.md')
          project.link('odd [dir] ü/CLAUDE.md', 'nowhere')
        },
        replies: () => [call(read('odd [dir] ü/file.txt')), say('done')],
      },
    ],
    sees: [
      'baseline $DSH_HOME/AGENTS.md, baseline AGENTS.md, baseline AGENTS.local.md',
      'added odd [dir] ü/AGENTS.md',
    ],
  },
]
