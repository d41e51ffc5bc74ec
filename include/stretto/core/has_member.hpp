// Whether a class has a member with a certain name, whatever it is: a function of any signature, an overload set, a
// template, data, public or not. Optional members are detected by their signature. A member with the right name and a
// wrong signature is a mistake of its author, which must not be taken for a missing member.
#ifndef STRETTO_CORE_HAS_MEMBER_HPP
#define STRETTO_CORE_HAS_MEMBER_HPP

#include <type_traits>

#include "stretto/core/language.hpp"

namespace stretto::detail {

/// Inherits all names of `M`, and the name declared by `Name` once more, so that a name in both becomes ambiguous.
template <class M, class Name>
struct named_twice : M, Name {};

template <class M>
concept can_be_base = std::is_class_v<M> && !std::is_final_v<M>;

}  // namespace stretto::detail

/// Defines `has_NAME<M, Arguments...>` in the enclosing namespace: whether `M` has a member NAME. `Arguments` are those
/// of the documented signature. They matter only if `M` is final, because nothing can inherit from it: then a member is
/// found if it is public, and has a single meaning or can be called with these arguments.
#define STRETTO_MEMBER_NAME(NAME)                                      \
    struct the_name_##NAME {                                           \
        int NAME;                                                      \
    };                                                                 \
    template <class M, class... Arguments>                             \
    concept has_##NAME =                                               \
        (::stretto::detail::can_be_base<M> && !requires {              \
            &::stretto::detail::named_twice<M, the_name_##NAME>::NAME; \
        }) || requires { &M::NAME; } || requires(M& m, const Arguments&... arguments) { m.NAME(arguments...); }

#endif
