// Whether a class has a member of a certain name, whatever it is: a function of any signature, an overload set, a
// template, data, public or not. Optional members are found by their signature; one that has the name and not the
// signature is a mistake of its author, which must not pass for "not there".
#ifndef STRETTO_CORE_HAS_MEMBER_HPP
#define STRETTO_CORE_HAS_MEMBER_HPP

#include <type_traits>

#include "stretto/core/language.hpp"

namespace stretto::detail {

/// Inherits all names of `M`, and the one name of `Name` a second time: a name that both have is ambiguous.
template <class M, class Name>
struct named_twice : M, Name {};

template <class M>
concept can_be_base = std::is_class_v<M> && !std::is_final_v<M>;

}  // namespace stretto::detail

/// Defines, in a namespace of its own, `has_NAME<M, Argument>`: whether `M` has a member NAME. If a class is final,
/// only a public function that takes an `Argument` is found.
#define STRETTO_MEMBER_NAME(NAME)                                                       \
    struct the_name_##NAME {                                                            \
        int NAME;                                                                       \
    };                                                                                  \
    template <class M, class Argument>                                                  \
    concept has_##NAME = (::stretto::detail::can_be_base<M> && !requires {              \
                             &::stretto::detail::named_twice<M, the_name_##NAME>::NAME; \
                         }) || requires(M& m, const Argument& argument) { m.NAME(argument); }

#endif
