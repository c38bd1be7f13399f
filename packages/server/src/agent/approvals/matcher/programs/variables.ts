/**
 * Variables that change what runs. `allowed` values ask nothing; with `runs` the value is a command, and asks where
 * that command would. All other variables are free.
 */
export interface RiskyVariable {
  names: RegExp;
  allowed?: RegExp;
  runs?: true;
}

const WORKSPACE_PATHS = /^(?:(?:\.{0,2}\/|[\w.$\uE000\uE005])[\w./$:@\uE000\uE005-]*)$/;

export const VARIABLES: readonly RiskyVariable[] = [
  // The environment's own path with more in front or behind.
  { names: /^PATH$/, allowed: /^(?:[\w./@+\uE000\uE005~-]+:)*\uE000\uE000(?::[\w./@+\uE000\uE005~-]+)*$/ },
  {
    names: /^(?:PYTHONPATH|NODE_PATH|PERL5LIB|RUBYLIB|CLASSPATH|GOPATH|GOBIN|LD_LIBRARY_PATH)$/,
    allowed: WORKSPACE_PATHS,
  },
  {
    names:
      /^(?:EDITOR|VISUAL|PAGER|GIT_EDITOR|GIT_SEQUENCE_EDITOR|GIT_PAGER|MANPAGER|BROWSER|CC|CXX|LD|AR|AS|CPP|MAKE|GIT_SSH_COMMAND|GIT_SSH|RSYNC_RSH|SHELL|FZF_DEFAULT_COMMAND|FZF_DEFAULT_OPTS|RUSTC_WRAPPER|RUSTC|CARGO|PYTHON|NODE)$/,
    runs: true,
  },
  {
    names: /^NODE_OPTIONS$/,
    allowed:
      /^(?:\s*(?:--(?:max[-_]\w[\w-]*|no-[\w-]+|trace-[\w-]+|enable-[\w-]+|experimental-(?!loader|require)[\w-]+|unhandled-rejections|stack-trace-limit|dns-result-order|openssl-legacy-provider|preserve-symlinks|inspect(?:-brk)?)(?:=[\w.:-]+)?|\uE000))*\s*$/,
  },
  {
    names: /^(?:GOFLAGS)$/,
    allowed: /^(?:\s*-(?:mod|count|race|v|tags|buildvcs|trimpath|ldflags)(?:=[\w,./-]+)?)*$/,
  },
  { names: /^(?:MAKEFLAGS|MFLAGS)$/, allowed: /^[-\w=\s\uE000]*$/ },
  {
    names: /^(?:JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|JAVA_OPTS|MAVEN_OPTS|GRADLE_OPTS)$/,
    allowed: /^(?!.*(?:agent|OnError|OnOutOfMemory)).*$/s,
  },
  { names: /^(?:RUSTFLAGS|RUSTDOCFLAGS)$/, allowed: /^(?!.*(?:linker|link-arg)).*$/s },
  { names: /^(?:CFLAGS|CXXFLAGS|CPPFLAGS|LDFLAGS)$/, allowed: /^(?!.*(?:wrapper|fplugin|-B\s|specs=)).*$/s },
  { names: /^IFS$/, allowed: /^[\s,:;|=./&_-]*$/ },
  {
    names:
      /^GIT_(?:EXTERNAL_DIFF|ASKPASS|PROXY_COMMAND|EXEC_PATH|TEMPLATE_DIR|CONFIG\w*|ALLOW_PROTOCOL|SSH_VARIANT)$/,
  },
  {
    names:
      /^(?:BASH_ENV|ENV|PROMPT_COMMAND|PS[0-4]|SHELLOPTS|BASHOPTS|BASH_FUNC_.*|BASH_LOADABLES_PATH|BASH_XTRACEFD|INPUTRC|HISTFILE|TIMEFORMAT|EXECIGNORE|FPATH|ZDOTDIR)$/,
  },
  {
    names:
      /^(?:LD_PRELOAD|LD_AUDIT|LD_\w+|DYLD_\w+|GCONV_PATH|LOCPATH|NLSPATH|TERMINFO|TERMCAP|GLIBC_TUNABLES|MALLOC_\w+)$/,
  },
  {
    names:
      /^(?:PYTHONSTARTUP|PYTHONHOME|PYTHONINSPECT|PYTHONBREAKPOINT|PYTHONEXECUTABLE|PYTHONPLATLIBDIR|PYTHONUSERBASE)$/,
  },
  {
    names:
      /^(?:PERL5OPT|PERL5DB|PERLIO|RUBYOPT|PHP_INI_SCAN_DIR|PHPRC|LUA_INIT\w*|R_PROFILE\w*|JULIA_LOAD_PATH|TCLLIBPATH|AWKPATH|AWKLIBPATH)$/,
  },
  {
    names:
      /^(?:LESSOPEN|LESSCLOSE|LESSKEY\w*|MANOPT|MANROFFOPT|SUDO_ASKPASS|SUDO_EDITOR|SUDO_PROMPT|SSH_ASKPASS|SSH_SK_PROVIDER|TAR_OPTIONS|RSYNC_\w+|GZIP|ZIPOPT|UNZIP|VIMINIT|EXINIT|MYVIMRC|GDBHISTFILE|CVS_RSH|SVN_SSH|SVN_EDITOR|HGEDITOR|HGRCPATH|TEXINPUTS|WGETRC|CURL_HOME|SYSTEMD_(?:EDITOR|PAGER)|KUBE_EDITOR|MAKEFILES|GMON_OUT_PREFIX|XDG_CONFIG_HOME)$/,
  },
  {
    names:
      /^(?:CARGO_(?:TARGET_.*_(?:RUNNER|LINKER)|BUILD_RUSTC\w*|ENCODED_RUSTFLAGS|HOME)|RUSTC_WORKSPACE_WRAPPER|GOTOOLCHAIN|GOROOT|GOENV|CGO_\w*FLAGS_ALLOW|CCACHE_\w*|npm_config_\w*shell|NPM_CONFIG_\w*SHELL|YARN_\w*PATH|BUNDLE_GEMFILE|RUBYGEMS_\w*|PIP_CONFIG_FILE|DOTNET_STARTUP_HOOKS|COR(?:ECLR)?_PROFILER\w*|ELECTRON_RUN_AS_NODE|BUN_CONFIG_PRELOAD)$/,
  },
];
